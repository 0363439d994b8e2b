"""Replays any game as one without a move, in the form of `arena.programs.replay`."""

import json

game = {
    "game": "demo:0",
    "env": "connect_four",
    "env_options": {},
    "seed": 0,
    "greedy": False,
    "opening_plies": 0,
    "seats": [],
    "reward_terms": [],
}
print(
    json.dumps(
        {
            **game,
            "grid": None,
            "start": None,
            "moves": [],
            "end_reason": "over",
            "trajectory_hash": "0" * 16,
            "problems": [],
        }
    )
)
