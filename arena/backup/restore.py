"""Restores a backup into a folder that is empty or not there yet.

Everything is first written into a folder inside that one, and compared with the sums. Then the
parts take their places: the identity first and the league last, so that a folder with only some of
them is refused by every command, which finds an identity without its league.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from arena.backup.archive import ArchiveReader, BackupError, open_archive
from arena.backup.contents import POPULATIONS, SHARED_FOLDERS
from arena.backup.make import DESCRIPTION, FORMAT, BackedUp, Description
from arena.backup.progress import CopyProgress
from arena.data.paths import POPULATION_NAME, league_path
from arena.league.copying import identity_in
from arena.league.identity import FILE as IDENTITY
from arena.words import bytes_text
from pbt.errors import ConfigError, HeldError
from pbt.files import sync_folder

ASIDE = ".restoring"


def restore_backup(
    path: Path, data: Path, progress: CopyProgress, *, dry_run: bool = False
) -> Description:
    """Makes the data directory anew from a backup, whole or not at all.

    dry_run: only compare the backup with its sums; nothing is written.
    Raises: ConfigError when the folder is not empty, BackupError when the backup is damaged or too
    large for the disk; then the folder is as it was.
    """
    if not dry_run:
        _refuse_place(data)
    with open_archive(path) as archive:
        told = description_of(archive, path)
        _refuse_names(archive, path)
        progress.what, progress.total_bytes = "comparing", sum(archive.sizes.values())
        if dry_run:
            with open(os.devnull, "wb") as nowhere:
                for name in archive.sizes:
                    archive.copy(name, nowhere, progress.told)
            return told
        progress.what = "restoring"
        with _aside(data) as aside:
            _refuse_full_disk(aside, progress.total_bytes)
            for name in archive.sizes:
                if name != DESCRIPTION:
                    _write(archive, name, aside, progress)
            _compare_identity(aside, told, path)
            _take_places(aside, data)
    return told


def description_of(archive: ArchiveReader, path: Path) -> Description:
    """What a backup says of itself. Raises: BackupError where this version cannot read it."""
    try:
        table = json.loads(archive.content(DESCRIPTION))
        if table["format"] != FORMAT:
            raise BackupError(
                f"{path}: a backup of format {table['format']}, this version reads {FORMAT}; "
                "restore it with the version of pbt-arena that made it"
            )
        populations = tuple(BackedUp(**one) for one in table["populations"])
        return Description(
            **{**table, "populations": populations, "warnings": tuple(table["warnings"])}
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BackupError(f"{path}: {DESCRIPTION} cannot be read: {error}") from error


def _refuse_names(archive: ArchiveReader, path: Path) -> None:
    """Raises: BackupError for a member that has no place in a data directory."""
    league = league_path(Path()).name
    for name in archive.sizes:
        first, *below = PurePosixPath(name).parts
        fits = (
            (first in SHARED_FOLDERS and bool(below))
            or (first == POPULATIONS and len(below) > 1 and POPULATION_NAME.fullmatch(below[0]))
            or name in (league, IDENTITY, DESCRIPTION)
        )
        if not fits:
            raise BackupError(f"{path}: {name[:80]!r} has no place in a data directory")
    if league not in archive.sizes:
        raise BackupError(f"{path}: no backup of arena: it has no {league}")


def _refuse_place(data: Path) -> None:
    """Raises: ConfigError unless the folder is empty, or not there and can be made."""
    problem = ""
    if not data.exists() and not data.is_symlink():
        return
    if not data.is_dir():
        problem = "is no folder"
    elif left := sorted(path.name for path in data.iterdir() if path.name != ASIDE):
        if IDENTITY in left and not league_path(data).exists() and (data / ASIDE).exists():
            problem = "holds part of a restore that was interrupted; remove that folder, or"
        else:
            problem = f"is not empty ({', '.join(left[:3])}{', ...' * (len(left) > 3)});"
    if problem:
        raise ConfigError(
            "arena restore",
            [f"{data} {problem} name a new or an empty folder with --data; nothing was changed"],
        )


@contextmanager
def _aside(data: Path) -> Iterator[Path]:
    """A folder inside of the new data directory, which goes again with all that is in it.

    What an interrupted restore left there goes first.
    Raises: HeldError while another process restores into the same folder.
    """
    made = not data.exists()
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = data / ASIDE
    held = os.open(data, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _hold(held, data)
        try:
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(mode=0o700)
            yield aside
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            if made:
                with suppress(OSError):
                    data.rmdir()  # only where it is empty
    finally:
        os.close(held)


def _hold(descriptor: int, data: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise HeldError(f"{data}: another process restores into it; wait for its end") from error
    except OSError:
        return  # a file system without locks, such as a network mount


def _refuse_full_disk(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise BackupError(
            f"{folder.parent}: {bytes_text(free)} are free, the backup needs "
            f"{bytes_text(needed)}; free space, or name a folder on another disk"
        )


def _write(archive: ArchiveReader, name: str, folder: Path, progress: CopyProgress) -> None:
    """Writes one member, for this account alone to read. Raises: BackupError when it differs."""
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        archive.copy(name, file, progress.told)
        file.flush()
        os.fsync(descriptor)


def _compare_identity(folder: Path, told: Description, path: Path) -> None:
    found = identity_in(league_path(folder))
    file = folder / IDENTITY
    written = file.read_text(encoding="ascii", errors="replace").strip() if file.exists() else None
    if not written == told.identity == (f"{found:08x}" if found else None):
        raise BackupError(
            f"{path}: its league has the identity {found:08x}, the backup was made of {written}; "
            "its parts come from different data directories"
        )


def _take_places(aside: Path, data: Path) -> None:
    """Raises: ConfigError when another process has put something there meanwhile."""
    _refuse_place(data)
    league = league_path(aside).name
    parts = sorted(path.name for path in aside.iterdir())
    order = {IDENTITY: -1, league: 1}
    for name in sorted(parts, key=lambda name: order.get(name, 0)):
        (aside / name).rename(data / name)
    sync_folder(data)
