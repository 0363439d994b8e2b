"""What programs of the first format left out over time is filled in by the upgrade.

`tests/fence/test_stored.py` resumes whole checkpoints of that format.
"""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from msgspec import convert

from pbt.checkpoint.upgrade import upgrade_1_to_2
from pbt.population.members import Member
from pbt.sampling.seats import Seats
from pbt.saved import (
    SavedCounts,
    SavedLeague,
    SavedMember,
    SavedOpponent,
    SavedRun,
    SavedWindow,
    SeatColumns,
)

SEAT = {
    "index": 0,
    "role": 0,
    "player": ["member", "m0"],
    "policy": 0,
    "generation": 2,
    "learning": True,
    "key": 2**64 - 1,
    "slot": 4,
    "row": 1,
    "first_row": 0,
    "pending": False,
    "episode_start": False,
    "over": False,
    "steps": 1,
    "frames": 0,
    "returns": 0.0,
    "version_start": 7,
    "version_end": 8,
    "began_generation": 1,
    "place": 0,
}
PLAN = {
    "game_count": 3,
    "kind": "training",
    "seed": 5,
    "seats": [["member", "m0", 0, 1, True]],
    "noise": ["action", 1, 3],
    "opening_plies": 0,
    "opening_seed": 5,
    "record_actions": False,
    "greedy": False,
    "pair": None,
}
MEMBER = {
    "name": "m0",
    "role": "player",
    "policy": 0,
    "hyperparams": {"learning_rate": 0.001},
    "generation": 2,
    "round": 0,
    "newest_snapshot": None,
    "finished": False,
    "copies": 0,
    "last_event": "",
}


def table(seat: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "plan": {**PLAN, "opening_plies": more.pop("opening_plies", 0)},
        "seats": [{**SEAT, **seat}],
        "actions": [[0, [3]]],
        "due": 1,
        "history": [0, 2, 0, 3],
        "steps": 2,
        "moves": 1,
        **more,
    }


def oldest(*tables: dict[str, Any] | None) -> dict[str, Any]:
    """What the first program that wrote the format would have written."""
    pool = {"free": [0, 1], "parked": {"0": [[2, 1]]}}
    return {
        "config": {"seed": 1},
        "engine": {"games": {"training": 4}, "rows_trained": 32},
        "controller": {
            "games": 4,
            "members": [MEMBER],
            "window": {"games": {"m0": [[2, 1.0], [3, 0.5]]}, "generations": {"m0": 2}},
            "returns": {"m0": [1.0]},
        },
        "planner": {
            "counts": [1, 4],
            "evaluated": {},
            "closing_played": 0,
            "snapshots": [["a", "m0", "player"]],
            "entrants": {"m0": [2, True]},
        },
        "worker": {
            "tables": list(tables),
            "idle": [0],
            "waiting": [[0, 0, False, [[1, 0]]]],
            "fillers": [{"pool": pool, "produced": 40, "dropped": {"voided": 2}}],
        },
        "trainees": {"m0": {"queue": [[0, 0, 2, 3]], "dropped": {}}},
    }


def upgraded(state: dict[str, Any]) -> SavedRun:
    return convert(upgrade_1_to_2(state), SavedRun, str_keys=True)


def test_what_the_oldest_programs_left_out_is_filled_in() -> None:
    run = upgraded(oldest(None, table({})))
    controller = run.controller
    assert controller.window == SavedWindow({"m0": [(2, 1.0, 0), (3, 0.5, 0)]}, [""], {"m0": 2}), (
        "games without opponents"
    )
    (member,) = controller.members
    assert (member.failed, member.failure, member.updates, member.refused_updates) == (
        False,
        "",
        0,
        0,
    )
    assert (controller.curves.points, controller.payoffs, run.league) == ({}, None, None)
    assert run.planner.roster.win_rates == {}
    assert run.planner.roster.snapshots == [SavedOpponent("a", "m0", "player")]
    assert run.worker.tables.level == [0.0, 0.0]
    assert run.worker.fillers[0].pool.parked == {0: [(2, 1)]}
    assert (run.queues["m0"].queue[0].slot, run.worker.seats.slot) == (3, [4])


def test_what_later_programs_wrote_is_kept() -> None:
    state = oldest(None, table({"acted": True}))
    state["controller"] |= {
        "window": {"games": {"m0": [[2, 1.0, 1]]}, "opponents": ["", "x"], "generations": {}},
        "points": {"m0": [3.0]},
        "payoffs": {
            "kind": "counts",
            "untold": 4,
            "source": {
                "cells": {"a": {"m0": [1.5, 2.0]}},
                "candidates": {"player": ["a"]},
                "generations": {},
            },
        },
    }
    state["controller"]["members"] = [{**MEMBER, "failed": True, "failure": "gone"}]
    state["planner"]["win_rates"] = {"a": {"m0": 0.25}}
    state["worker"]["levels"] = [[1, 12.0]]
    state["league"] = {"incarnation": 1, "events": 2, "snapshots": ["a"]}
    run = upgraded(state)
    assert run.controller.window.games == {"m0": [(2, 1.0, 1)]}
    assert run.controller.curves.points == {"m0": [3.0]}
    payoffs = run.controller.payoffs
    assert payoffs is not None and payoffs.untold == 4
    assert payoffs.source == SavedCounts({"player": ["a"]}, {}, {"a": {"m0": (1.5, 2.0)}})
    assert (run.controller.members[0].failed, run.controller.members[0].failure) == (True, "gone")
    assert run.planner.roster.win_rates == {"a": {"m0": 0.25}}
    assert run.worker.tables.level == [0.0, 12.0]
    assert run.league == SavedLeague(1, 2, ["a"], None), "heads of the chain came later"


@pytest.mark.parametrize(
    ("seat", "table_", "acted", "first"),
    [
        ({"steps": 0}, {}, False, None),
        ({}, {}, True, 7),
        # The opening is not over: only the game's seed has acted.
        ({}, {"opening_plies": 2}, False, None),
        # It is over, and those programs did not say whether the player has acted.
        ({}, {"opening_plies": 1}, True, None),
        ({"acted": True}, {"opening_plies": 1}, True, 7),
    ],
)
def test_what_is_known_of_first_actions(
    seat: dict[str, Any], table_: dict[str, Any], acted: bool, first: int | None
) -> None:
    seats = upgraded(oldest(None, table(seat, **table_))).worker.seats
    assert (seats.acted, seats.version_start) == ([acted], [first])


def test_parts_have_every_field_that_outlives_a_start() -> None:
    """A field that is added to a member or a seat must be stored, or named here."""
    seats = set(vars(Seats(1, (0,), 1, np.dtype(np.int64))))
    # The witness belongs to one start; a seat that is due waits or stands among the actions.
    left_out = {"per_table", "weights", "answers", "due", "chosen", "action"}
    assert (
        set(SeatColumns.__struct_fields__) - {"table", "index", "kind", "name"} == seats - left_out
    )
    assert set(SavedMember.__struct_fields__) == {field.name for field in fields(Member)}
