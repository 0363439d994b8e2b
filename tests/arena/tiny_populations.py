"""Real populations, small and quickly trained, in a test's own data directory."""

from pathlib import Path
from typing import Any

from arena.training.train import start_training
from pbt.config.load import config_from_table
from tests.pbt.models.memories import memory

CONNECT_FOUR: dict[str, Any] = {
    "env": {"name": "connect_four"},
    "stop_at_frames": 1500,
    "population": {"members": 2},
    "model": {"hidden": [16]},
    "sampling": {"environments": 8, "rollout_steps": 8},
    # One pass, because no test of these populations depends on how much they learn.
    "learning": {"batch_steps": 256, "epochs": 1, "normalize_returns": False},
    "snapshots": {"every_frames": 500},
    "evaluation": {"final_games": 40},
    "pbt": {"enabled": False},
    # One process, because no test of these populations depends on the placement.
    "runtime": {"placement": "serial"},
}
UNRATED = {**CONNECT_FOUR, "stop_at_frames": 300, "evaluation": {"share": 0.0, "final_games": 0}}
TWO_ROLES = {
    **UNRATED,
    "env": {"name": "hide_and_seek"},
    "population": {"members": {"hider": 2, "seeker": 1}},
}


def with_memory(size: int, core: str = "gru") -> dict[str, Any]:
    return {**UNRATED, "model": {"hidden": [16], **memory(core, size)}}


def train(data: Path, name: str, table: dict[str, Any]) -> None:
    start_training(config_from_table(table, name), name, data, lambda progress: None)
