"""Writes a replayed game as JSON, for programs and for the dashboard."""

from dataclasses import asdict
from typing import Any

import numpy as np

from arena.league.game_names import NamedGame
from arena.matches.replay import Replay


def replay_json(named: NamedGame, replayed: Replay) -> dict[str, Any]:
    """The replayed game as plain values.

    Boards are text, null where the game has none. Rewards stand by seat, one per reward term.
    """
    record = named.record
    seats = [
        {
            "seat": name,
            "player": named.labels[seat.player],
            "kind": seat.player.kind,
            "id": seat.player.name,
        }
        | {"place": seat.place, "returns": seat.returns, "points": seat.points}
        for name, seat in zip(replayed.seat_names, record.seats, strict=True)
    ]
    return {
        "game": named.name,
        "env": named.env_name,
        "env_options": named.env_options,
        "seed": record.seed,
        "greedy": record.greedy,
        "opening_plies": record.opening_plies,
        "seats": seats,
        "reward_terms": replayed.terms,
        "grid": replayed.grid,
        "in_a_row": replayed.in_a_row,
        "start": replayed.start,
        "moves": [{**asdict(move), "action": plain_action(move.action)} for move in replayed.moves],
        "end_reason": record.end_reason,
        "trajectory_hash": record.trajectory_hash,
        "problems": replayed.problems,
    }


def plain_action(action: Any) -> Any:
    """The action with plain numbers and lists in place of numpy's."""
    if isinstance(action, np.ndarray | np.generic):
        return action.tolist()
    if isinstance(action, dict):
        return {key: plain_action(part) for key, part in action.items()}
    return [plain_action(part) for part in action] if isinstance(action, tuple | list) else action
