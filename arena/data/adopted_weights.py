"""Weights that a population began with lie in its own folder: the one they are from may be deleted.

The files are found by what they hold, since a snapshot's id is the SHA-256 of its file.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from arena.data.paths import PopulationPaths, population_names, population_paths
from arena.data.snapshot_cards import weights_folder
from pbt.errors import LostWeightsError, SnapshotError, reason
from pbt.files import copy_checked, sync_folder

SUFFIX = ".safetensors"


def adopt_weights(paths: PopulationPaths, snapshot_ids: Iterable[str]) -> None:
    """Copies into a population's folder the snapshots that it lacks, each file whole or not at all.

    snapshot_ids  of this data directory, its imports included
    Raises: LostWeightsError where no intact file of one is left, SnapshotError when the disk
    refuses.
    """
    for snapshot_id in dict.fromkeys(snapshot_ids):
        own = paths.snapshots / f"{snapshot_id}{SUFFIX}"
        if own.exists():
            continue
        try:
            if not any(_copied(path, own, snapshot_id) for path in _files(paths.data, own.name)):
                raise LostWeightsError(
                    f"{own}: the population begins with snapshot {snapshot_id[:12]}, and no intact "
                    f"file of it is left in {paths.data}; restore it from a backup, or delete the "
                    "population and begin with another one"
                )
        except OSError as error:
            raise SnapshotError(
                f"{own}: could not be written: {reason(error)}; free space or make the folder "
                "writable, then try again"
            ) from error


def _files(data: Path, name: str) -> Iterator[Path]:
    """The files of this name in other populations and among the imports."""
    folders = (population_paths(data, one).snapshots for one in population_names(data))
    for folder in (*folders, weights_folder(data)):
        if (folder / name).is_file():
            yield folder / name


def _copied(path: Path, own: Path, snapshot_id: str) -> bool:
    """Whether the file held this snapshot; then it is copied. A damaged one leaves nothing."""
    try:
        if not copy_checked(path, own, snapshot_id):
            return False
    except FileNotFoundError:
        return False
    sync_folder(own.parent)
    return True
