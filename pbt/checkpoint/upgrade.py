"""The first format of checkpoints, in the form of the second one.

The first one held what each component made of itself: lists and dictionaries. Programs added fields
to it over time, so what any of them left out is filled in here, and nowhere else.
"""

from collections.abc import Mapping, Sequence
from typing import Any

State = dict[str, Any]

_OF_PLAN = (
    "game_count",
    "kind",
    "seed",
    "noise",
    "opening_plies",
    "opening_seed",
    "record_actions",
    "greedy",
    "pair",
)
_OF_TABLE = ("due", "steps", "moves", "history", "actions")
_OF_SEAT = (
    "index",
    "role",
    "policy",
    "generation",
    "learning",
    "key",
    "slot",
    "row",
    "first_row",
    "pending",
    "episode_start",
    "over",
    "steps",
    "frames",
    "returns",
    "acted",
    "version_start",
    "version_end",
    "began_generation",
)


def upgrade_1_to_2(state: Mapping[str, Any]) -> State:
    """Return the state of a checkpoint of format 1 as one of format 2, both as JSON.

    Raises: KeyError, IndexError, TypeError or ValueError for a state that no program wrote.
    """
    league = state.get("league")
    return {
        "config": state["config"],
        "engine": state["engine"],
        "controller": _controller(state["controller"]),
        "planner": _planner(state["planner"]),
        "worker": _worker(state["worker"]),
        "queues": state["trainees"],
        # At first there was none, and later it had no head of the chain.
        "league": league and {"head": None, **league},
    }


def _controller(state: Mapping[str, Any]) -> State:
    late = {"failed": False, "failure": "", "updates": 0, "refused_updates": 0}
    payoffs = state.get("payoffs")
    if payoffs is not None:
        source = {"kind": payoffs["kind"], **payoffs["source"]}
        payoffs = {"untold": payoffs["untold"], "source": source}
    return {
        "games": state["games"],
        "members": [late | member for member in state["members"]],
        "window": _window(state["window"]),
        "curves": {"returns": state["returns"], "points": state.get("points", {})},
        "payoffs": payoffs,
    }


def _window(state: Mapping[str, Any]) -> State:
    """Games had no opponents at first."""
    if "opponents" in state:
        return dict(state)
    games = {
        member: [[number, points, 0] for number, points in own]
        for member, own in state["games"].items()
    }
    return {"games": games, "opponents": [""], "generations": state["generations"]}


def _planner(state: Mapping[str, Any]) -> State:
    """There were no win rates at first, and all snapshots whose weights were stored."""
    return {
        "counts": state["counts"],
        "evaluated": state["evaluated"],
        "closing_played": state["closing_played"],
        "roster": {
            "entrants": {
                name: {"generation": generation, "learning": learning}
                for name, (generation, learning) in state["entrants"].items()
            },
            "snapshots": [
                {"snapshot_id": snapshot_id, "member": member, "role": role}
                for snapshot_id, member, role in state["snapshots"]
            ],
            "win_rates": state.get("win_rates", {}),
        },
    }


def _worker(state: Mapping[str, Any]) -> State:
    """Tables, games and seats become columns. Tables had no levels at first."""
    levels, tables = dict(state.get("levels", ())), state["tables"]
    playing = [(number, table) for number, table in enumerate(tables) if table is not None]
    seats = [
        (number, {**seat, **_first_action(seat, table)})
        for number, table in playing
        for seat in table["seats"]
    ]
    asking = [entry for *_, entries in state["waiting"] for entry in entries]
    return {
        "tables": {
            "table": list(range(len(tables))),
            "level": [levels.get(number, 0.0) for number in range(len(tables))],
        },
        "games": {
            "table": [number for number, _ in playing],
            **_columns(_OF_PLAN, [table["plan"] for _, table in playing]),
            **_columns(_OF_TABLE, [table for _, table in playing]),
        },
        "seats": {
            "table": [number for number, _ in seats],
            "kind": [seat["player"][0] for _, seat in seats],
            "name": [seat["player"][1] for _, seat in seats],
            **_columns(_OF_SEAT, [seat for _, seat in seats]),
        },
        "waiting": {
            "table": [table for table, _ in asking],
            "seat": [seat for _, seat in asking],
        },
        "idle": state["idle"],
        "fillers": state["fillers"],
    }


def _columns(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in names}


def _first_action(seat: Mapping[str, Any], table: Mapping[str, Any]) -> State:
    """Return what is known of the first action of a seat's player.

    The programs that had no `acted` noted the first version only where no opening ply of the seat
    came before its player's first action.
    """
    if "acted" in seat:
        return {}
    opening = table["plan"]["opening_plies"]
    if seat["steps"] == 0 or table["moves"] < opening:
        return {"acted": False, "version_start": None}
    return {"acted": True, "version_start": None if opening else seat["version_start"]}
