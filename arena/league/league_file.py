"""The file of a league before it is opened: made where none was, or in a read-only folder."""

from pathlib import Path

from arena.data.lock import check_locks
from arena.league.identity import folder_identity, identity_file
from pbt.errors import PbtError, reason


class LeagueError(PbtError):
    """The league cannot be used now: it is damaged, locked, full, or not there any more."""


def make_file(path: Path) -> None:
    """Makes an empty league file where none was. SQLite is told to make none.

    Raises: LeagueError where there was one before and none, or an empty file, is now; NoLocksError
    where the file system keeps no locks, PbtError when the folder cannot be made.
    """
    # Read first: the first writer gives the folder its identity once the file has tables.
    identity = folder_identity(path.parent)
    there = path.exists()
    if there and path.stat().st_size:
        return check_locks(path.parent)
    if identity is not None:
        # SQLite would take an empty file for a new database, and remove its write-ahead log.
        raise LeagueError(
            f"league {path}: it is {'empty' if there else 'gone'}, but its folder has the identity "
            f"{identity:08x} of one that was there; put it back, or remove "
            f"{identity_file(path.parent)} to begin anew"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_locks(path.parent)
        path.touch()
    except OSError as error:
        raise PbtError(
            f"league {path}: it cannot be made: {reason(error)}; name another data directory with "
            "--data (in Python data=)"
        ) from error


def without_writing(path: Path) -> str:
    """How SQLite reads a league in a folder that nothing may be written to: without a lock.

    Nothing changes there, unless another account writes, which then has its files beside it.
    Raises: PbtError when rows stand in a write-ahead log that cannot be read so.
    """
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or not log.stat().st_size:
        return "&immutable=1"
    if path.with_name(f"{path.name}-shm").exists():
        return ""
    raise LeagueError(
        f"league {path}: its newest rows stand in {log.name}, and its folder cannot be written to; "
        "copy both to a folder of your own and name that with --data (in Python data=)"
    )
