"""Trainings that begin with weights of another population, and what is looked at in them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.stored_snapshots import StoredSnapshot, list_snapshots
from arena.training.result import Result
from arena.training.train import start_training
from arena.training.warm_start import OWN_WEIGHTS, StartFrom
from pbt.checkpoint.files import Checkpoint, read_checkpoint
from pbt.checkpoint.folders import checkpoint_folders
from pbt.config.load import config_from_table
from pbt.models.weights import policy_tensors
from pbt.snapshots import FileSnapshotStore
from tests.arena.tiny_populations import UNRATED

# Its rounds copy and mutate at once, and store snapshots with moments.
BRED: dict[str, Any] = {
    **UNRATED,
    "stop_at_frames": 1200,
    "population": {"members": 3},
    "learning": {"batch_steps": 64, "epochs": 1},
    "pbt": {
        "period_frames": 300,
        "warmup_frames": 0,
        "copy_gap": 0.0,
        "min_games": 3,
        "top_share": 0.5,
    },
}


def warm(
    data: Path, name: str, wanted: StartFrom = OWN_WEIGHTS, table: Mapping[str, Any] = UNRATED
) -> Result:
    config = config_from_table(table, name)
    return start_training(config, name, data, lambda progress: None, wanted=wanted)


def snapshots(data: Path, name: str, member: str | None = None) -> list[StoredSnapshot]:
    with open_league(league_path(data), read_only=True) as league:
        return list_snapshots(league, name, member)


def first(data: Path, name: str, member: str) -> StoredSnapshot:
    return snapshots(data, name, member)[0]


def newest(data: Path, name: str, member: str) -> StoredSnapshot:
    """The one that a bare name of the member means, where no round stored any."""
    return snapshots(data, name, member)[-1]


def weights(data: Path, name: str, snapshot_id: str) -> dict[str, Tensor]:
    loaded = FileSnapshotStore(population_paths(data, name).snapshots).load(snapshot_id)
    return {key: tensor.clone() for key, tensor in policy_tensors(loaded).items()}


def beginning(data: Path, name: str) -> Checkpoint:
    """The checkpoint of the first frame."""
    folders = checkpoint_folders(population_paths(data, name).checkpoints)
    checkpoint = read_checkpoint(folders[0])
    assert checkpoint.number == 1
    return checkpoint
