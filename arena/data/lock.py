"""The lock of a population: an operating-system file lock that is released when its process ends.

The operating system releases it also when the process is killed, so a stale lock cannot exist.
"""

import errno
import fcntl
import os
import tempfile
import time
from pathlib import Path
from typing import Self

from pbt.errors import ConfigError, HeldError, PbtError

GLANCE_S = 0.2
"""How long to retry before concluding that another process holds the lock.

`holder` takes a shared lock for microseconds while it reads the owner's pid.
"""


# What a file system answers that has no locks, as some network mounts.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class NoLocksError(PbtError):
    """A file system keeps no locks, so two processes could write the same file at once."""

    def __init__(self, place: Path, reason: OSError) -> None:
        super().__init__(
            f"{place}: this file system has no locks ({reason.strerror}), without which two "
            "processes could write at once and damage what is stored; name a folder on another "
            "file system, say a local disk, with --data"
        )


def check_locks(folder: Path) -> None:
    """Make sure that files in this folder can be locked, by both calls that are in use.

    It locks a file without a name. Where this process may make none, nothing is known and nothing
    is said. Raises: NoLocksError.
    """
    try:
        probe = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  closed by `with` below
    except OSError:
        return
    with probe:
        try:
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise NoLocksError(folder, error) from error


class PopulationLock:
    """An exclusive lock on a population's `lock` file. The file holds the owner's pid.

    Raises, on entry: HeldError while another process holds it, NoLocksError where the file system
    keeps no locks, ConfigError when its folder cannot be made.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._descriptor = -1

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                "data directory",
                [f"{self._path.parent} cannot be made: {error.strerror}; name another with --data"],
            ) from error
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _take(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno in _NO_LOCKS:
                raise NoLocksError(self._path.parent, error) from error
            held = f"population {self._name!r} is held by process {holder(self._path) or 'unknown'}"
            raise HeldError(
                f"{held}; stop it with `arena stop {self._name}`, or train under another name"
            ) from error
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        except OSError as error:
            os.close(descriptor)
            raise OSError(error.errno, error.strerror, str(self._path)) from error
        self._descriptor = descriptor
        return self

    def __exit__(self, *failure: object) -> None:
        os.close(self._descriptor)


def _take(descriptor: int) -> None:
    """Locks the file exclusively. Raises: BlockingIOError when another process holds the lock."""
    deadline = time.monotonic() + GLANCE_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.001)


def holder(path: Path) -> int | None:
    """The pid of the process that holds the lock now, None when no process does.

    Raises: NoLocksError where the file system keeps no locks.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise NoLocksError(path.parent, error) from error
        text = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(descriptor)
