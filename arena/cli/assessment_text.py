"""The assessment of a population for people: its sentence, what is wrong, its members."""

from collections.abc import Mapping, Sequence
from typing import Any

from arena.assessment.answer import Assessment

HEADINGS = {"elo": "rating", "margin": "margin over random", "return": "mean return"}


def assessment_lines(told: Mapping[str, Any]) -> list[str]:
    """The sentence, and a line for each finding that is not part of it.

    told  the assessment as plain values
    """
    marks = {"bad": "FAULT", "warn": "WARNING"}
    return [
        f"{told['population']}: {told['sentence']}",
        *(
            f"{marks[finding['level']]}: {finding['text']}"
            for finding in told["findings"]
            if finding["level"] in marks and finding["kind"] != told["conclusion"]
        ),
    ]


def in_short(made: Assessment | None) -> dict[str, str] | None:
    """The conclusion and the sentence; None without an assessment."""
    return None if made is None else {"conclusion": made.conclusion, "sentence": made.sentence}


def member_columns(told: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of the table of members; ">" marks numbers."""
    scores = (">against random",) if told["unit"] == "elo" else ()
    strength = f">{HEADINGS[told['unit']]} [95 %]"
    return ("member", "state", ">frames", strength, *scores, "last PBT action", "health")


def member_rows(told: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The cells of `member_columns`, the strongest member first; a dash for what is not known."""
    return [_cells(member, told["unit"]) for member in told["members"]]


def _cells(member: Mapping[str, Any], unit: str) -> tuple[str, ...]:
    from arena.league.frames import frames_text

    did = member["last_pbt"]
    score = "-"
    if member["score"] is not None:
        score = f"{100 * member['score']:.3g} % of {member['score_games']}"
    return (
        member["member"],
        member["state"],
        f"{member['frames']:,}",
        _strength((member["value"], member["low"], member["high"]), unit),
        *((score,) if unit == "elo" else ()),
        "-" if did is None else f"{did['text']} at {frames_text(did['frames'])}",
        member["health_text"],
    )


def _strength(ends: Sequence[float | None], unit: str) -> str:
    """`+636 [+554, +718]`."""
    style = {"elo": "+.0f", "margin": "+.3g", "return": ".4g"}[unit]
    # "+ 0.0" makes 0 of a negative zero.
    value, low, high = (
        "-" if one is None else format((round(one) if unit == "elo" else one) + 0.0, style)
        for one in ends
    )
    return value if value == "-" or low == high == "-" else f"{value} [{low}, {high}]"
