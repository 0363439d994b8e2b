"""What an edit does is said before it is sent, by one function, from counts alone."""

from dataclasses import replace
from typing import Any

import pytest

from arena.data.edit_effects import EditStanding, edit_effects, standing_of
from arena.data.status import MemberRow
from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from pbt.population.pbt_decision import next_due
from tests.arena.sample_status import STATUS

ROWS = (
    MemberRow("m0", 1_600_000, 1.0, "learning"),
    MemberRow("m1", 2_500_000, 1.0, "finished"),
    MemberRow("m2", 7, None, "failed"),
    MemberRow("m3", 1_900_000, 1.0, "learning"),
)
ROLES = dict.fromkeys(("m0", "m1", "m2", "m3"), "player")
VALUES = {"m0": {"learning_rate": 3e-4}, "m1": {"learning_rate": 7e-4}}
STANDING = standing_of("running", replace(STATUS, members=ROWS), ROLES, VALUES)
LIVE = "its trainer takes it at its next rest, without a new start"
ANEW = "its trainer saves, and starts again with the new values; what was learned and played stays"
MEMBERS = (
    "its trainer saves, and trains on with the changed members within seconds; the other members "
    "keep clocks, values and scores"
)


def config(**values: Any) -> RunConfig:
    table = {
        "env": {"name": "tictactoe", "objective": "win"},
        "stop_at_frames": 10_000_000,
        "population": {"members": 4},
        "pbt": {"period_frames": 5_000_000, "warmup_frames": 0},
        **values,
    }
    return config_from_table(table, "test")


def told(after: RunConfig, *, state: str = "running", **standing: Any) -> list[str]:
    return edit_effects(config(), after, replace(STANDING, state=state, **standing))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"pbt": {"period_frames": 1_000_000, "warmup_frames": 0}},
            "pbt.period_frames 5000000 -> 1000000: the next round after 100,000 frames (m3), in "
            "place of the next round after 2,500,000 frames (m1); 8 rounds until the end of a "
            "member",
        ),
        (
            {"pbt": {"enabled": False, "period_frames": 5_000_000, "warmup_frames": 0}},
            "pbt.enabled True -> False: no more rounds are held: members keep their values, and "
            "none copies another",
        ),
        (
            {"pbt": {"copy_gap": 0.1, "period_frames": 5_000_000, "warmup_frames": 0}},
            "pbt.copy_gap nothing -> 0.1: rounds from now on follow the new rule; those that were "
            "decided stay",
        ),
        (
            {"evaluation": {"share": 0.1}},
            "evaluation.share 0.05 -> 0.1: 10 % of all games are evaluation games rather than 5 %; "
            "90 % are left to learn from rather than 95 %",
        ),
        (
            {"matchmaking": {"past_share": 0.5}},
            "matchmaking.past_share 0.2 -> 0.5: frozen snapshots take 50 % of the opponents' seats "
            "rather than 20 %",
        ),
        (
            {"learning": {"learning_rate": 1e-4}},
            f"learning.learning_rate {config().learning.learning_rate} -> 0.0001: every member "
            "gets this value in place of its own (0.0003 to 0.0007 now); PBT goes on from there",
        ),
        (
            {"snapshots": {"every_frames": 400_000}},
            "snapshots.every_frames 1000000 -> 400000: the next snapshot after 100,000 frames, in "
            "place of 100,000",
        ),
        (
            {"snapshots": {"keep_newest": 3}},
            "snapshots.keep_newest 20 -> 3: more old snapshots lose their weights, for good; their "
            "games and ratings stay",
        ),
        (
            {"stop_at_frames": 20_000_000},
            "stop_at_frames 10000000 -> 20000000: m0 has 18,400,000 frames to go rather than "
            "8,400,000",
        ),
        (
            {"stop_at_frames": 1_600_000},
            "stop_at_frames 10000000 -> 1600000: every member has trained 1,600,000 frames "
            "already: the population finishes",
        ),
        (
            {"env": {"name": "tictactoe", "objective": "margin"}},
            'env.objective "win" -> "margin": every member\'s score begins anew',
        ),
        (
            {"learning": {"gamma": 0.5}},
            f"learning.gamma {config().learning.gamma} -> 0.5: updates from then on are made with "
            "it",
        ),
    ],
)
def test_what_one_value_does(changed: dict[str, Any], expected: str) -> None:
    assert told(config(**changed))[1:] == [expected]


@pytest.mark.parametrize(
    ("state", "changed", "when"),
    [
        ("running", {"evaluation": {"share": 0.5}}, LIVE),
        ("recovering", {"learning": {"gamma": 0.5}}, ANEW),
        ("stopped", {"learning": {"gamma": 0.5}}, "its next start takes it"),
        ("finished", {"evaluation": {"share": 0.5}}, "its next start takes it"),
        ("created", {"evaluation": {"share": 0.5}}, "its first start takes it"),
    ],
)
def test_when_it_is_in_force(state: str, changed: dict[str, Any], when: str) -> None:
    assert told(config(**changed), state=state)[0] == when


def test_nothing_is_said_of_an_edit_that_changes_nothing() -> None:
    assert told(config()) == ["nothing changes: every value is as it was"]


def test_a_new_end_of_annealing_needs_a_new_start() -> None:
    before, after = (
        config(stop_at_frames=frames, learning={"anneal_to": 0.1})
        for frames in (10_000_000, 20_000_000)
    )
    when, effect = edit_effects(before, after, STANDING)
    assert when == ANEW and effect.endswith("; values anneal towards the new end")


def test_a_finished_population_needs_a_start_to_train_on() -> None:
    _, effect = told(config(stop_at_frames=20_000_000), state="finished")
    assert effect.endswith("; it is finished; start it to train on")
    _, short = told(config(stop_at_frames=1_000), state="finished")
    assert "start it" not in short


def test_of_a_population_that_never_trained_only_counts_are_foreseen() -> None:
    found = edit_effects(
        config(),
        config(pbt={"period_frames": 1_000_000, "warmup_frames": 1_500_000}, stop_at_frames=100),
        EditStanding("created"),
    )
    assert found[0] == "its first start takes it"
    assert found[1].endswith(
        "the first round at 2,000,000 frames of each member, in place of the first round at "
        "5,000,000 frames of each member; 0 rounds until the end of a member"
    )
    assert "already" not in "".join(found)


def test_the_rounds_that_are_left_are_those_that_the_controller_would_hold() -> None:
    """Counted one by one, as `Controller` holds them: none at the end itself."""
    for period, warmup, stop, clock in (
        (1000, 0, 10_000, 0),
        (1000, 3500, 10_000, 100),
        (700, 0, 7_000, 1399),
        (5000, 0, 5_000, 0),
    ):
        after = config(pbt={"period_frames": period, "warmup_frames": warmup}, stop_at_frames=stop)
        rounds, frames = 0, clock
        while (frames := next_due(frames, period, warmup)) < stop:
            rounds += 1
        found = edit_effects(config(), after, EditStanding("running", {"m0": clock}, ("m0",)))
        assert f"; {rounds} round" in "".join(found), (period, warmup, stop, clock)


def test_who_joins_and_what_the_others_learn_from_then() -> None:
    after = config(population={"members": 4, "joined": {"m4": {"role": "player", "weights": "m0"}}})
    roles = {**ROLES, "m4": "player"}
    assert told(after, roles=roles, learning=("m0", "m1", "m3", "m4")) == [
        MEMBERS,
        "m4 joins as player with a copy of m0: its weights, moments and values as they stand then; "
        "its clock begins at 0 frames",
        "4 -> 5 members play player; each that learns gets 25 % of its frames rather than 33.3 %, "
        "so clocks go on more slowly",
    ]


def test_who_leaves() -> None:
    found = told(config(population={"members": 4, "left": ["m3", "m2"]}))
    assert found[1:] == [
        "m3 leaves at 1,900,000 frames for good: its last snapshot stays among the opponents, and "
        "its games, rounds and ratings stay; games in which it sits are not counted",
        "m2 leaves for good: its last snapshot stays among the opponents, and its games, rounds "
        "and ratings stay; games in which it sits are not counted",
        "4 -> 2 members play player; each that learns gets 100 % of its frames rather than 50 %, "
        "so clocks go on faster",
        "PBT copies nothing then: it copies among 3 or more members",
    ]
