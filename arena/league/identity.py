"""The identity of a league and of the data directory around it.

A random number is given to both by the first writer that opens the league. It tells a process
whether the directory that it finds is the one that it opened: another disk may be mounted there by
now, or an empty folder may stand in place of one that was moved. A copy has the same identity.

The league has it in its header (SQLite's `user_version`), the directory in the file `identity`.
"""

import os
import secrets
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection

from pbt.errors import PbtError, reason
from pbt.files import write_whole

FILE = "identity"
AWAY = (
    "it is not there any more, because its folder was moved, removed or unmounted; put it back, "
    "and everything goes on"
)
OTHER = "another league is in its place; put back the one that was there, and everything goes on"


def identity_file(folder: Path) -> Path:
    return folder / FILE


def folder_identity(folder: Path) -> int | None:
    """The identity of a data directory, None where it has none. Raises: PbtError when damaged."""
    path = identity_file(folder)
    try:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        return int(text, 16)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise PbtError(
            f"{path}: {reason(error)}; expected 8 hexadecimal digits; remove it and it is written "
            "anew"
        ) from error


def stored_identity(connection: Connection) -> int:
    """The identity of a league, 0 where it has none."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def agree(league: Path, stored: int) -> int:
    """The identity of a league and its folder, which is given to the folder if it has none.

    stored  the identity of the league, 0 where it has none
    Raises: PbtError when both have one and they differ.
    """
    folder = folder_identity(league.parent)
    identity = stored or folder or secrets.randbelow(2**31 - 1) + 1
    if folder is None:
        write_whole(identity_file(league.parent), f"{identity:08x}\n", durable=True)
    elif folder != identity:
        raise PbtError(
            f"league {league}: its identity is {identity:08x}, that of its folder {folder:08x}, so "
            "it comes from another data directory; put the right one there, or remove "
            f"{identity_file(league.parent)}"
        )
    return identity


class Place:
    """The file in which a league was opened.

    returns  how often the league was found in another file, with the same identity
    """

    def __init__(self, path: Path, identity: int) -> None:
        self.identity, self.returns = identity, 0
        self._path, self._file = path, _file_of(path)
        self._lock = threading.Lock()

    def look(self, reopen: Callable[[], None]) -> str | None:
        """What is wrong with the file, None when it is the one that was opened.

        reopen  called when the league is in another file now: put back from a copy, or mounted
                again
        """
        try:
            if _file_of(self._path) == self._file:
                return None
            with self._lock:
                found = _file_of(self._path)
                if found != self._file:
                    if _identity_of(self._path) != self.identity:
                        return OTHER
                    self._file = found
                    self.returns += 1
                    reopen()
        except OSError:
            return AWAY
        return None


def _file_of(path: Path) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _identity_of(path: Path) -> int | None:
    """The identity of the league in a file, None for a file that is no league."""
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error:
        return None
