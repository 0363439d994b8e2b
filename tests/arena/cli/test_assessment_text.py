"""How `arena population status` shows an assessment."""

from dataclasses import asdict, replace

import pytest

from arena.assessment.answer import PbtAction, StrengthUnit
from arena.assessment.assess import assess
from arena.cli.assessment_text import assessment_lines, member_columns, member_rows
from tests.arena.assessment.made_up import population, strengths, with_member


def grows(share: float) -> float:
    return 600.0 * share


def test_the_sentence_stands_first_and_then_what_is_wrong() -> None:
    history = with_member(population(grows), 2, state="failed", failure="loss is nan")
    made = assess(with_member(history, 1, refused=2))
    lines = assessment_lines(asdict(made))
    assert lines[0] == f"demo: {made.sentence}"
    assert lines[1:] == [
        "FAULT: m2 failed, and learns no more: loss is nan",
        "WARNING: m1: 2 of 502 updates were refused",
    ]
    well = assess(population(grows))
    assert assessment_lines(asdict(well)) == [f"demo: {well.sentence}"]


@pytest.mark.parametrize(
    ("unit", "heading"), [("elo", ">rating [95 %]"), ("return", ">mean return [95 %]")]
)
def test_members_have_their_strength_in_its_unit(unit: StrengthUnit, heading: str) -> None:
    action = PbtAction("m1", "copied m0", "m0 was ahead", 960_000, 1.0)
    history = with_member(population(grows), 1, last_pbt=action)
    assert history.strengths is not None
    told = asdict(
        assess(replace(history, strengths=strengths(*history.strengths.roles, unit=unit)))
    )
    columns = member_columns(told)
    rows = [dict(zip(columns, row, strict=True)) for row in member_rows(told)]
    (own,) = (row for row in rows if row["member"] == "m1")
    assert own["last PBT action"] == "copied m0 at 960k" and own["health"] == "learns"
    sign = "+" if unit == "elo" else ""
    assert own[heading].startswith(sign) and "[" in own[heading]
    assert (own.get(">against random") == "90 % of 40") == (unit == "elo")


def test_a_member_without_a_rating_has_dashes() -> None:
    told = asdict(assess(replace(population(grows), strengths=None)))
    assert {row[3:6] for row in member_rows(told)} == {("-", "-", "-")}
