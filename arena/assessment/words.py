"""The words of an assessment: changes, strengths, shares and times. Pure."""

from collections.abc import Sequence

from arena.assessment.answer import AnchorScore, BestPlayer, Gain, StrengthUnit
from arena.league.frames import frames_text

ENOUGH_GAMES = 20
PREFIX = {"elo": "", "margin": "margin ", "return": "mean return "}
SUFFIX = {"elo": " Elo", "margin": " a game", "return": " a game"}


def change_text(gain: Gain, unit: StrengthUnit) -> str:
    """`+180 ± 40 Elo`, `margin +0.31 ± 0.05 a game`, `mean return +12.1 ± 3.4 a game`."""
    half = gain.high - gain.value
    if unit == "elo":
        return f"{round(gain.value):+d} ± {round(half)} Elo"
    # "+ 0.0" makes 0 of a negative zero.
    return f"{PREFIX[unit]}{gain.value + 0.0:+.3g} ± {half:.2g}{SUFFIX[unit]}"


def value_text(value: float, unit: StrengthUnit) -> str:
    """`+636`, `+0.31`, `12.1`: a strength without its unit."""
    if unit == "elo":
        return f"{round(value):+d}"
    return f"{value + 0.0:+.3g}" if unit == "margin" else f"{value + 0.0:.4g}"


def best_text(
    best: BestPlayer, anchors: Sequence[AnchorScore], unit: StrengthUnit, *, anchored: bool
) -> str:
    """`best m1@1.2M of 12: 98.8 % against random (>= 96.1 %)`.

    anchors   scores of the best; where the first has few games, its strength says more
    anchored  strengths are above `random`
    """
    name = best.player.rpartition("/")[2]
    title = f"best {name} of {best.of}" if best.of > 1 else f"best {name}"
    if anchors and anchors[0].games >= ENOUGH_GAMES:
        first = anchors[0]
        score, low = (f"{100 * share:.3g} %" for share in (first.score, first.low))
        return f"{title}: {score} against {first.player} (>= {low})"
    bound = "" if best.low is None else f" (>= {value_text(best.low, unit)})"
    over = " over random" if anchored else ""
    return f"{title}: {PREFIX[unit]}{value_text(best.value, unit)}{SUFFIX[unit]}{over}{bound}"


def count_text(count: int, word: str, words: str) -> str:
    """`1 copy`, `3 copies`."""
    return f"{count:,} {word if count == 1 else words}"


def time_text(seconds: float) -> str:
    """`2 h`, `35 min` or `20 s`."""
    if seconds >= 2 * 86400:
        return f"{round(seconds / 86400)} days"
    if seconds >= 3600:
        hours = seconds / 3600
        return f"{hours:.1f} h" if hours < 10 else f"{round(hours)} h"
    return f"{round(seconds / 60)} min" if seconds >= 90 else f"{max(1, round(seconds))} s"


def stretch_text(gain: Gain) -> str:
    """`in the last 100k frames`."""
    return f"in the last {frames_text(gain.frames)} frames"
