"""A replayed game as JSON, for programs and for pages."""

from dataclasses import asdict
from typing import Any

import numpy as np

from arena.league.game_names import NamedGame
from arena.matches.replay import Replay


def replay_json(named: NamedGame, found: Replay) -> dict[str, Any]:
    """Boards are text, null where the game has none; rewards by seat, one per reward term."""
    record = named.record
    seats = [
        {
            "seat": name,
            "player": named.labels[seat.player],
            "kind": seat.player.kind,
            "id": seat.player.name,
        }
        | {"place": seat.place, "returns": seat.returns, "points": seat.points}
        for name, seat in zip(found.seat_names, record.seats, strict=True)
    ]
    return {
        "game": named.name,
        "env": named.env_name,
        "env_options": named.env_options,
        "seed": record.seed,
        "greedy": record.greedy,
        "opening_plies": record.opening_plies,
        "seats": seats,
        "reward_terms": found.terms,
        "grid": found.grid,
        "in_a_row": found.in_a_row,
        "start": found.start,
        "moves": [{**asdict(move), "action": plain_action(move.action)} for move in found.moves],
        "end_reason": record.end_reason,
        "trajectory_hash": record.trajectory_hash,
        "problems": found.problems,
    }


def plain_action(action: Any) -> Any:
    """Numbers and lists instead of numpy's."""
    if isinstance(action, np.ndarray | np.generic):
        return action.tolist()
    if isinstance(action, dict):
        return {key: plain_action(part) for key, part in action.items()}
    return [plain_action(part) for part in action] if isinstance(action, tuple | list) else action
