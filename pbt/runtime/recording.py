"""Whether a worker's games are recorded, and who plays in them."""

import json
from collections.abc import Callable
from pathlib import Path

from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.errors import SnapshotError
from pbt.film.folder import FOLDER
from pbt.models.tensor_file import read_tensor_file
from pbt.records import PlayerRef
from pbt.sampling.recording import GameObserver, NullObserver, Recorder
from pbt.snapshots import FileSnapshotStore


def new_onlooker(config: RunConfig, spec: EnvSpec, snapshots: Path) -> GameObserver:
    """For one process that plays games. snapshots: the population's folder of them; films lie
    beside it.
    """
    if config.evaluation.record_share == 0.0:
        return NullObserver()
    return Recorder(config, spec, snapshots.with_name(FOLDER), snapshot_names(snapshots))


def snapshot_names(snapshots: Path) -> Callable[[PlayerRef], str]:
    """Frozen members by name and clock, as their files say: "m2 at 250,000 frames"."""
    store = FileSnapshotStore(snapshots)

    def name_of(player: PlayerRef) -> str:
        if player.kind != "snapshot":
            return player.name
        try:
            said = json.loads(read_tensor_file(store.path(player.name)).metadata["pbt"])
            return f"{said['member']} at {int(said['frames']):,} frames"
        except (SnapshotError, KeyError, ValueError):
            return player.name[:8]

    return name_of
