"""Lineages of hand-made rounds: the frames that count, the values in force, what is refused."""

import pytest

from arena.league.lineage import Edit, Histories, RoundDecision, Weights, trace
from pbt.errors import EngineError
from pbt.records import Directive

START = {"learning_rate": 0.001, "entropy_coef": 0.01, "adam_beta1": 0.9}


def decided(
    member: str,
    number: int,
    frames: int,
    at: float,
    values: dict[str, float],
    *,
    donor: str | None = None,
    snapshot: str | None = None,
) -> RoundDecision:
    directive = Directive(member, number, donor, snapshot, {**START, **values}, tuple(values))
    return RoundDecision(directive, frames, f"round {number}", at)


M1 = [
    decided("m1", 1, 1000, 1.0, {"learning_rate": 0.002}),
    decided("m1", 2, 2000, 5.0, {"learning_rate": 0.004}),
]
M0 = [
    decided("m0", 1, 1100, 2.0, {"entropy_coef": 0.02}),
    decided("m0", 2, 2100, 6.0, {"learning_rate": 0.008}, donor="m1", snapshot="s"),
    decided("m0", 3, 3100, 9.0, {"learning_rate": 0.016}),
]
HISTORIES = Histories(
    {"m0": M0, "m1": M1},
    {"s": Weights("m1", 2050, 0, 6.0, "s")},
    (),
    {"m0": START, "m1": START},
    {"m0": [], "m1": []},
)


def test_a_copy_goes_on_where_its_donor_stood() -> None:
    found = trace(HISTORIES, Weights("m0", 4000, 1, 20.0, "x"))
    assert [(step.frames, step.member, step.member_frames, step.kind) for step in found.steps] == [
        (0, "m1", 0, "start"),
        (1000, "m1", 1000, "mutate"),
        (2000, "m1", 2000, "mutate"),
        (2050, "m0", 2100, "copy"),
        (3050, "m0", 3100, "mutate"),
    ]
    assert [step.hyperparams["learning_rate"] for step in found.steps] == [
        0.001,
        0.002,
        0.004,
        0.008,
        0.016,
    ]
    assert all(step.hyperparams["entropy_coef"] == 0.01 for step in found.steps), (
        "m0's own mutation before the copy is no ancestor"
    )
    assert found.frames == 2050 + (4000 - 2100)
    assert found.steps[3].donor == HISTORIES.snapshots["s"]
    assert found.steps[0].changed == ()
    assert found.steps[3].changed == ("learning_rate",)


def test_weights_before_the_copy_have_their_own_ancestry() -> None:
    found = trace(HISTORIES, Weights("m0", 2100, 0, 5.5, "y"))
    assert [(step.frames, step.kind) for step in found.steps] == [(0, "start"), (1100, "mutate")]
    assert found.frames == 2100


def test_what_was_decided_when_the_weights_were_taken_trained_nothing_of_them() -> None:
    assert [step.frames for step in trace(HISTORIES, Weights("m1", 2000, 0, 5.0, "z")).steps] == [
        0,
        1000,
    ]


def test_edits_hold_from_where_they_were_made() -> None:
    edited = Histories(
        HISTORIES.rounds,
        HISTORIES.snapshots,
        (Edit(2500, 7.0, {"learning_rate": 0.5, "shaping.x": 1.0}),),
        HISTORIES.initial,
        {},
    )
    found = trace(edited, Weights("m0", 4000, 1, 20.0, "x"))
    assert [
        (step.frames, step.kind, step.hyperparams["learning_rate"]) for step in found.steps[3:]
    ] == [
        (2050, "copy", 0.008),
        (2450, "edit", 0.5),
        (3050, "mutate", 0.016),
    ]
    assert "shaping.x" not in found.steps[4].hyperparams
    assert [step.kind for step in trace(edited, Weights("m1", 2050, 0, 6.0, "s")).steps] == [
        "start",
        "mutate",
        "mutate",
    ], "made after these weights"


def test_a_schedule_is_part_of_the_ancestry() -> None:
    planned = Histories(
        {},
        {},
        (),
        {"m0": START},
        {"m0": [(0, START), (500, {**START, "adam_beta1": 0.8}), (9000, START)]},
    )
    found = trace(planned, Weights("m0", 1000, 0, 1.0, "x"))
    assert [(step.frames, step.kind, step.changed) for step in found.steps] == [
        (0, "start", ()),
        (500, "schedule", ("adam_beta1",)),
    ]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (Weights("m0", 4000, 2, 20.0, "x"), "generation 2; its rounds tell of 1 copies"),
        (Weights("m1", 4000, 1, 20.0, "x"), "its rounds tell of 0 copies"),
    ],
)
def test_a_league_that_is_not_whole_is_named(weights: Weights, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        trace(HISTORIES, weights)


def test_a_copied_snapshot_without_a_row_is_named() -> None:
    lost = Histories(HISTORIES.rounds, {}, (), HISTORIES.initial, {})
    with pytest.raises(EngineError, match="copied snapshot s, which has no row"):
        trace(lost, Weights("m0", 4000, 1, 20.0, "x"))
