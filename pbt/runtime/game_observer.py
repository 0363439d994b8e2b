"""What becomes of a process's games: films where the config says so, and files of faulty ones."""

import json
from collections.abc import Callable
from pathlib import Path

from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.errors import SnapshotError
from pbt.film.folder import FOLDER
from pbt.models.tensor_file import read_tensor_file
from pbt.records import PlayerRef
from pbt.sampling.filming import GameFilmer, GameObserver
from pbt.sampling.reproductions import FOLDER as LOGS
from pbt.sampling.reproductions import Reproductions
from pbt.snapshots import FileSnapshotStore


def new_game_observer(config: RunConfig, spec: EnvSpec, snapshots: Path) -> GameObserver:
    """Return the observer of one process's games.

    snapshots: the population's folder of snapshots, beside which the folder of films lies.
    """
    if config.evaluation.record_share == 0.0:
        return GameObserver()
    return GameFilmer(config, spec, snapshots.with_name(FOLDER), snapshot_names(snapshots))


def new_reproductions(config: RunConfig, snapshots: Path) -> Reproductions:
    """Return what keeps games that went wrong, beside the population's folder of snapshots."""
    folder = snapshots.with_name(LOGS)
    return Reproductions(folder, config.env.name, config.env.game_options)


def snapshot_names(snapshots: Path) -> Callable[[PlayerRef], str]:
    """Return a function that names players, a snapshot by its member and clock.

    Such a name is "m2 at 250,000 frames"; member and clock are read from the snapshot's file.
    """
    store = FileSnapshotStore(snapshots)

    def name_of(player: PlayerRef) -> str:
        if player.kind != "snapshot":
            return player.name
        try:
            metadata = json.loads(read_tensor_file(store.path(player.name)).metadata["pbt"])
            return f"{metadata['member']} at {int(metadata['frames']):,} frames"
        except (SnapshotError, KeyError, ValueError):
            return player.name[:8]

    return name_of
