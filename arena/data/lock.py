"""Who holds a population: an operating-system lock that ends with its process, however that
ends.
"""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from pbt.errors import ConfigError, HeldError

GLANCE_S = 0.2
"""Who looks who holds a lock shares it for microseconds (`holder`); one that is held for so long
is held.
"""


class PopulationLock:
    """An exclusive lock on a population's `lock` file, which names the holder's pid.

    Raises, on entry: HeldError while another process holds it, ConfigError where no folder can be
    made for it.
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
            held = f"population {self._name!r} is held by process {holder(self._path) or 'unknown'}"
            raise HeldError(
                f"{held}; stop it with `arena stop {self._name}`, or train under another --name"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        self._descriptor = descriptor
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)


def _take(descriptor: int) -> None:
    """Raises: BlockingIOError when another process holds it."""
    deadline = time.monotonic() + GLANCE_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.001)


def holder(path: Path) -> int | None:
    """The pid of the process that holds the lock now, None when nobody does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except OSError:
        text = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(descriptor)
