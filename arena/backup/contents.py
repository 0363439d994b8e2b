"""What a backup holds beside the league, the checkpoints and the snapshots, and how large it gets.

The folder `service` stays behind, because it holds tokens and the key of cookies, and so do locks,
edits that wait for a running trainer, unfinished files and crash logs of the command line.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from arena.data.paths import IMPORTED, PopulationPaths, population_names, population_paths
from pbt.checkpoint.folders import checkpoint_folders
from pbt.files import PART_SUFFIX

SHARED_FOLDERS = (IMPORTED, "comparisons", "evaluations")
POPULATIONS = "populations"
SUFFIX = ".safetensors"


def shared_files(data: Path) -> Iterator[Path]:
    """The files of a data directory that belong to no population."""
    for folder in SHARED_FOLDERS:
        yield from _files_below(data / folder)


def own_files(paths: PopulationPaths) -> Iterator[Path]:
    """The files of a population but its config, checkpoints and snapshots."""
    left_out = {paths.config, paths.lock, paths.edits}
    for path in _files_below(paths.root, {paths.checkpoints.name, paths.snapshots.name}):
        if path not in left_out:
            yield path


def snapshot_files(paths: PopulationPaths) -> list[Path]:
    """The files of a population's snapshots that are there now."""
    return sorted(paths.snapshots.glob(f"*{SUFFIX}"))


def rough_size(data: Path, league_bytes: int) -> int:
    """Bytes of a backup of what is there now, and of the copy of the league that is made first."""
    size = 2 * league_bytes + sum(map(_size, shared_files(data)))
    for name in population_names(data):
        paths = population_paths(data, name)
        newest = checkpoint_folders(paths.checkpoints)[-1:]
        files = [
            *own_files(paths),
            *snapshot_files(paths),
            *(p for f in newest for p in f.glob("*")),
        ]
        size += sum(map(_size, files))
    return size


def _files_below(folder: Path, left_out: frozenset[str] | set[str] = frozenset()) -> Iterator[Path]:
    """Files that are whole. left_out: names of folders right below."""
    for parent, folders, names in os.walk(folder):
        if Path(parent) == folder:
            folders[:] = [name for name in folders if name not in left_out]
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and not name.endswith(PART_SUFFIX):
                yield Path(parent, name)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
