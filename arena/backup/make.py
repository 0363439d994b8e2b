"""Makes a backup of a data directory while trainings and the service run in it."""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import Connection

from arena.backup.archive import CHUNK_BYTES, ArchiveWriter, BackupError, Hashed
from arena.backup.contents import (
    POPULATIONS,
    SUFFIX,
    own_files,
    rough_size,
    shared_files,
    snapshot_files,
)
from arena.backup.cut import Cut, OpenCheckpoint, SnapshotKey, open_checkpoint, taken_cut
from arena.backup.progress import CopyProgress
from arena.data.paths import league_path, population_names, population_paths
from arena.league.copying import copy_league, identity_in, size_of
from arena.league.database import League, open_league
from arena.league.identity import identity_file
from arena.league.schema import SCHEMA_REVISION
from arena.words import bytes_text
from pbt import __version__
from pbt.checkpoint.folders import checkpoint_folders
from pbt.errors import ConfigError, HeldError
from pbt.files import PART_SUFFIX, sync_folder

DESCRIPTION = "backup.json"
FORMAT = 1
ROOM_LEFT = 1.05
"""Trainings go on while they are copied, so a little more room than now is asked for."""
AT_ONCE_BYTES = 1 << 25


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A population in a backup.

    name        its name
    checkpoint  number of its checkpoint, None where it had none
    head        head of its chain, for `arena verify --head`
    snapshots   how many snapshots with weights
    """

    name: str
    checkpoint: str | None
    head: str
    snapshots: int


@dataclass(frozen=True)
class Description:
    """What a backup says of itself, in its member `backup.json`.

    format       of the backup
    made_at      of its cut, seconds since the epoch
    version      of the program that made it
    schema       of the league in it
    identity     of the data directory, 8 hexadecimal digits; None for one without
    populations  sorted by name
    warnings     what was wrong with the data directory already, in words
    """

    format: int
    made_at: float
    version: str
    schema: str
    identity: str | None
    populations: tuple[BackedUp, ...]
    warnings: tuple[str, ...]


def make_backup(data: Path, path: Path, progress: CopyProgress) -> Description:
    """Writes a backup of the data directory into a new file, whole or not at all.

    The data directory is only read. Raises: ConfigError for a place that cannot be taken,
    BackupError when there is too little space, PbtError when the league cannot be read.
    """
    _refuse_place(path)
    with open_league(league_path(data), read_only=True) as league:
        _refuse_full_disk(data, league, path, progress)
        with new_file(path) as file:
            return _Backup(data, league, path, file, progress).write()


def _refuse_place(path: Path) -> None:
    problem = ""
    if path.is_dir():
        problem = "is a folder; name a file in it, such as backup.tar"
    elif path.exists() or path.is_symlink():
        problem = "exists already; name a new file, or remove it first"
    elif not path.parent.is_dir():
        problem = f"cannot be made, because there is no folder {path.parent}"
    if problem:
        raise ConfigError("arena backup", [f"{path} {problem}"])


def _refuse_full_disk(data: Path, league: League, path: Path, progress: CopyProgress) -> None:
    progress.total_bytes = rough_size(data, size_of(league))
    needed, free = int(progress.total_bytes * ROOM_LEFT), shutil.disk_usage(path.parent).free
    if needed > free:
        raise BackupError(
            f"{path.parent}: {bytes_text(free)} are free, the backup needs {bytes_text(needed)}; "
            "free space, or name a file on another disk"
        )


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that gets its name when it is whole. Only this account can read it.

    An unfinished one of a process that was killed is taken over.
    Raises: HeldError while another process writes it, ConfigError when the name is taken meanwhile.
    """
    part = path.with_name(f"{path.name}{PART_SUFFIX}")
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        _hold(descriptor, part)
        try:
            os.fchmod(descriptor, 0o600)
            file.truncate(0)
            yield file
            file.flush()
            os.fsync(descriptor)
            _refuse_place(path)
            part.rename(path)
            sync_folder(path.parent)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _hold(descriptor: int, part: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.fstat(descriptor).st_ino == part.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        held = False
    except OSError:
        return  # a file system without locks, such as a network mount
    if not held:
        raise HeldError(f"{part}: another process writes this backup; wait, or name another file")


class _Backup:
    """One backup that is being written.

    path  of the finished file
    file  that is written now
    """

    def __init__(
        self, data: Path, league: League, path: Path, file: BinaryIO, progress: CopyProgress
    ) -> None:
        self._data, self._league, self._progress = data, league, progress
        self._writer = ArchiveWriter(file, progress.told)
        self._copy = path.with_name(f"{path.name}.league{PART_SUFFIX}")
        self._warnings: list[str] = []
        self._checkpoints: dict[str, str] = {}

    def write(self) -> Description:
        """The longest part comes before the cut, so that the cut is as new as it can be."""
        stored = self._add_snapshots()
        with taken_cut(self._league, self._data, stored) as cut:
            made_at = time.time()
            self._warnings += cut.lost
            identity = self._add_league(cut.connection)
            self._progress.what = "checkpoints"
            for (name, snapshot_id), file in cut.snapshots.items():
                self._add_snapshot(name, snapshot_id, file)
            for name, checkpoint in cut.checkpoints.items():
                self._add_checkpoint(name, checkpoint)
        for name, content in cut.configs.items():
            self._writer.add_bytes(f"{POPULATIONS}/{name}/config.json", content)
        self._add_rest({population.name for population in cut.populations} | cut.configs.keys())
        told = Description(
            FORMAT,
            made_at,
            __version__,
            SCHEMA_REVISION,
            identity,
            tuple(self._backed_up(cut)),
            tuple(self._warnings),
        )
        self._writer.add_bytes(DESCRIPTION, json.dumps(asdict(told), indent=1).encode())
        self._writer.finish()
        return told

    def _add_snapshots(self) -> frozenset[SnapshotKey]:
        """Adds the snapshots that are there now, and returns which they are.

        One that retention removes meanwhile is skipped, or added though its row will say that it
        was removed, which does no harm.
        """
        self._progress.what, added = "snapshots", set[SnapshotKey]()
        for name in population_names(self._data):
            for path in snapshot_files(population_paths(self._data, name)):
                snapshot_id = path.name.removesuffix(SUFFIX)
                with suppress(FileNotFoundError), path.open("rb") as file:
                    self._add_snapshot(name, snapshot_id, file)
                    added.add((name, snapshot_id))
        return frozenset(added)

    def _add_snapshot(self, name: str, snapshot_id: str, file: BinaryIO) -> None:
        sha256 = self._add_file(f"{POPULATIONS}/{name}/snapshots/{snapshot_id}{SUFFIX}", file)
        if sha256 != snapshot_id:
            self._warnings.append(f"snapshot {snapshot_id[:12]} of {name}: its file is damaged")

    def _add_checkpoint(self, name: str, newest: OpenCheckpoint) -> None:
        """Adds the newest checkpoint that is not damaged, as a resume would take it."""
        folder = population_paths(self._data, name).checkpoints
        with ExitStack() as files:
            for checkpoint in self._checkpoints_of(folder, newest, files):
                damage = checkpoint.damage or self._damage(checkpoint)
                if not damage:
                    where = f"{POPULATIONS}/{name}/checkpoints/{checkpoint.number}"
                    for part, file in checkpoint.files.items():
                        self._add_file(f"{where}/{part}", file)
                    self._checkpoints[name] = checkpoint.number
                    return
                self._warnings.append(f"{name}: {damage}")
        self._warnings.append(f"{name}: no checkpoint of it is intact, so it cannot go on")

    @staticmethod
    def _checkpoints_of(
        folder: Path, newest: OpenCheckpoint, files: ExitStack
    ) -> Iterator[OpenCheckpoint]:
        yield newest
        for path in reversed(checkpoint_folders(folder)):
            if path.name < newest.number:
                yield open_checkpoint(path, files)

    @staticmethod
    def _damage(checkpoint: OpenCheckpoint) -> str:
        for name, sha256 in checkpoint.sha256.items():
            file = Hashed(checkpoint.files[name], lambda size: None)
            while file.read(CHUNK_BYTES):
                pass
            if file.sha256 != sha256:
                return f"checkpoint {checkpoint.number}: {name} is damaged"
            checkpoint.files[name].seek(0)
        return ""

    @contextmanager
    def _league_copy(self) -> Iterator[Path]:
        leftovers = [self._copy.with_name(f"{self._copy.name}{end}") for end in ("", "-journal")]
        for path in leftovers:
            path.unlink(missing_ok=True)
        os.close(os.open(self._copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            yield self._copy
        finally:
            for path in leftovers:
                path.unlink(missing_ok=True)

    def _add_league(self, connection: Connection) -> str | None:
        """Adds the view of the league that the connection reads, and returns its identity."""
        before, size = self._progress.done_bytes, size_of(self._league)

        def copied(pages: int, total: int) -> None:
            self._progress.done_bytes = before + int(size * pages / max(1, total))

        self._progress.what = "the league"
        with self._league_copy() as copy:
            copy_league(connection, copy, copied)
            with copy.open("rb") as file:
                self._add_file(self._league.path.name, file)
            number = identity_in(copy)
        if not number:
            return None
        self._writer.add_bytes(identity_file(self._data).name, f"{number:08x}\n".encode())
        return f"{number:08x}"

    def _add_rest(self, populations: set[str]) -> None:
        self._progress.what = "curves and logs"
        for path in shared_files(self._data):
            self._add_path(path)
        for name in sorted(populations):
            for path in own_files(population_paths(self._data, name)):
                self._add_path(path)

    def _add_path(self, path: Path) -> None:
        """Adds a file that may grow meanwhile: what it holds now. Small ones are read at once."""
        name = path.relative_to(self._data).as_posix()
        with suppress(FileNotFoundError), path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_size > AT_ONCE_BYTES:
                self._writer.add(name, file, found.st_size, found.st_mtime)
            else:
                self._writer.add_bytes(name, file.read(), found.st_mtime)

    def _add_file(self, name: str, file: BinaryIO) -> str:
        found = os.fstat(file.fileno())
        return self._writer.add(name, file, found.st_size, found.st_mtime)

    def _backed_up(self, cut: Cut) -> Iterator[BackedUp]:
        for population in cut.populations:
            folder = f"{POPULATIONS}/{population.name}/snapshots/"
            files = {f"{folder}{one}{SUFFIX}" for one in population.snapshots}
            weights = len(files & self._writer.names)
            number = self._checkpoints.get(population.name)
            yield BackedUp(population.name, number, population.head, weights)
