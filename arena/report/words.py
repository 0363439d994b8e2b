"""The words of a report: numbers with their intervals, and times. Pure."""

from datetime import UTC, datetime

from arena.assessment.answer import StrengthUnit
from arena.assessment.words import value_text

STRENGTH = {"elo": "Elo", "margin": "margin a game", "return": "mean return a game"}


def moment_text(seconds: float) -> str:
    """`2026-11-27 21:05 UTC`."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def strength_text(
    value: float | None, low: float | None, high: float | None, unit: StrengthUnit
) -> str:
    """`+312 [+250, +374]`; ">= +250" without an upper end; a dash without a value."""
    if value is None or (low is None and high is None):
        return "-"
    if high is None or low is None:
        sign, end = (">=", low) if high is None else ("<=", high)
        return f"{sign} {value_text(end or 0.0, unit)}"
    low_text, high_text = value_text(low, unit), value_text(high, unit)
    return f"{value_text(value, unit)} [{low_text}, {high_text}]"


def share_text(value: float, low: float | None, high: float | None) -> str:
    """`62.5 % [55.0, 69.5]`."""
    ends = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:.1f} %{ends}"


def met_text(value: float, low: float | None, high: float | None, *, margins: bool) -> str:
    """A score, or a mean margin, with its interval."""
    if not margins:
        return share_text(value, low, high)
    ends = "" if low is None or high is None else f" [{low:+.3g}, {high:+.3g}]"
    return f"{value + 0.0:+.3g}{ends}"
