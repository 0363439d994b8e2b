"""One cut of a data directory: a view of the league, and the checkpoints and snapshots of it.

Trainers go on meanwhile. A checkpoint never names a row that the league does not have, so the
newest checkpoints are opened first and the view of the league second. If a newer checkpoint has
come in between, both are taken again. What the view knows more than its checkpoints are the games
since then, as after a crash: a resume takes them back.

Retention keeps what the newest checkpoints need, and marks a row before it removes the file. So
all that the view and its checkpoints need is there at that moment. It is opened then: an open file
stays readable when its name is gone.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import Connection

from arena.backup.archive import BackupError
from arena.data.paths import PopulationPaths, population_names, population_paths
from arena.league.copying import ViewedPopulation, populations_in
from arena.league.database import League
from pbt.checkpoint.folders import MANIFEST, checkpoint_folders, parse_manifest
from pbt.errors import CheckpointError

SUFFIX = ".safetensors"
CUT_TIMEOUT_S = 60.0
PAUSE_S = 0.02

SnapshotKey = tuple[str, str]
"""(population, id of the snapshot)."""


@dataclass(frozen=True, slots=True)
class OpenCheckpoint:
    """A checkpoint whose files are open.

    number   as its folder is called
    files    name -> open file, the manifest last
    sha256   name -> SHA-256, as its manifest says; without the manifest's own
    damage   why it cannot be used, "" where nothing is known to be wrong
    """

    number: str
    files: Mapping[str, BinaryIO]
    sha256: Mapping[str, str]
    damage: str = ""


@dataclass(frozen=True)
class Cut:
    """What belongs together.

    connection   reads the view of the league; it is for the `with` block of `taken_cut`
    populations  all populations of the view
    checkpoints  population -> its newest checkpoint; without those that have none
    configs      population -> content of its config.json; without those that have none
    snapshots    files of snapshots that the caller does not have yet
    lost         in words: snapshots whose rows promise weights that are not there
    """

    connection: Connection
    populations: tuple[ViewedPopulation, ...]
    checkpoints: Mapping[str, OpenCheckpoint]
    configs: Mapping[str, bytes]
    snapshots: Mapping[SnapshotKey, BinaryIO]
    lost: tuple[str, ...]


@dataclass
class _Attempt:
    """The files that one attempt has opened."""

    files: ExitStack
    checkpoints: dict[str, OpenCheckpoint] = field(default_factory=dict)
    configs: dict[str, bytes] = field(default_factory=dict)
    snapshots: dict[SnapshotKey, BinaryIO] = field(default_factory=dict)
    missing: set[SnapshotKey] = field(default_factory=set)


@contextmanager
def taken_cut(league: League, data: Path, stored: frozenset[SnapshotKey]) -> Iterator[Cut]:
    """A cut, whose files are open inside the `with` block.

    stored  the snapshots that the caller has already
    Raises: BackupError when trainers save so often that there is no moment between two checkpoints.
    """
    deadline, missing = time.monotonic() + CUT_TIMEOUT_S, set[SnapshotKey]()
    while True:
        with ExitStack() as files, league.read() as connection:
            # The view begins with the first statement, which comes behind the checkpoints.
            attempt = _Attempt(files)
            names = population_names(data)
            for name in names:
                _open_checkpoint(attempt, name, population_paths(data, name))
            populations = populations_in(connection)
            _open_snapshots(attempt, data, populations, stored)
            # A row that still promises the file that was missing before: it was not retention.
            lost, missing = attempt.missing & missing, attempt.missing
            if not missing - lost and _still_newest(attempt, data, names):
                yield Cut(
                    connection,
                    tuple(populations),
                    attempt.checkpoints,
                    attempt.configs,
                    attempt.snapshots,
                    tuple(_loss(*key) for key in sorted(lost)),
                )
                return
        if time.monotonic() > deadline:
            raise BackupError(
                f"{data}: no moment between two checkpoints was found for {CUT_TIMEOUT_S:.0f} s; "
                "set checkpoints.every_s of the populations higher, or pause them"
            )
        time.sleep(PAUSE_S)


def _loss(population: str, snapshot_id: str) -> str:
    return f"snapshot {snapshot_id[:12]} of {population}: its file is lost"


def _open_checkpoint(attempt: _Attempt, name: str, paths: PopulationPaths) -> None:
    """Opens the newest checkpoint of a population and reads its config, where they are there."""
    with suppress(FileNotFoundError):  # it was removed meanwhile, which `_still_newest` sees
        attempt.configs[name] = paths.config.read_bytes()
    folders = checkpoint_folders(paths.checkpoints)
    if folders:
        attempt.checkpoints[name] = open_checkpoint(folders[-1], attempt.files)


def open_checkpoint(folder: Path, files: ExitStack) -> OpenCheckpoint:
    """Opens all files of a checkpoint. It is called damaged where one is missing."""
    try:
        opened = files.enter_context((folder / MANIFEST).open("rb"))
        manifest = parse_manifest(folder.name, opened.read())
        opened.seek(0)
        parts = {file: files.enter_context((folder / file).open("rb")) for file in manifest.sha256}
        return OpenCheckpoint(folder.name, {**parts, MANIFEST: opened}, manifest.sha256)
    except (CheckpointError, FileNotFoundError) as error:
        return OpenCheckpoint(folder.name, {}, {}, str(error))


def _open_snapshots(
    attempt: _Attempt,
    data: Path,
    populations: list[ViewedPopulation],
    stored: frozenset[SnapshotKey],
) -> None:
    for population in populations:
        folder = population_paths(data, population.name).snapshots
        if population.state == "deleting":
            continue
        for snapshot_id in population.snapshots:
            key = (population.name, snapshot_id)
            if key in stored:
                continue
            try:
                file = (folder / f"{snapshot_id}{SUFFIX}").open("rb")
                attempt.snapshots[key] = attempt.files.enter_context(file)
            except FileNotFoundError:
                attempt.missing.add(key)


def _still_newest(attempt: _Attempt, data: Path, names: list[str]) -> bool:
    """Whether each population has no other checkpoint now than the one that was opened."""
    if population_names(data) != names:
        return False
    for name in names:
        folders = checkpoint_folders(population_paths(data, name).checkpoints)
        opened = attempt.checkpoints.get(name)
        if [path.name for path in folders[-1:]] != ([] if opened is None else [opened.number]):
            return False
    return True
