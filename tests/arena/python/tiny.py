"""The config of tiny trainings."""

from typing import Any

CONFIG: dict[str, Any] = {
    "seed": 3,
    "env": {"name": "tictactoe"},
    "stop_at_frames": 600,
    "population": {"members": 2},
    "model": {"hidden": [16]},
    "sampling": {"environments": 8, "rollout_steps": 8},
    "learning": {"batch_steps": 128, "epochs": 1},
    "pbt": {"period_frames": 300, "warmup_frames": 0},
    "snapshots": {"every_frames": 300},
    "evaluation": {"final_games": 8},
    "checkpoints": {"every_s": 3600.0},
    "runtime": {"placement": "serial"},
}
# Its end is far away: only a stop ends it.
ENDLESS = {**CONFIG, "stop_at_frames": 100_000_000}
