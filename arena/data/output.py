"""What the games and the processes of a training print: `logs/output.log` of its population."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pbt.envs.voice import DESCRIPTOR, apart

FILE = "output.log"
MOST_BYTES = 4 << 20


@contextmanager
def printed_into(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """In this block what games print goes to the file, so that it does not cross the display.

    Only where results have a descriptor of their own (`pbt.envs.voice`); a disk that refuses the
    file changes nothing. say: is told of a file that has grown
    """
    opened = _opened(folder / FILE) if apart() else None
    if opened is None:
        yield
        return
    before, size = os.dup(DESCRIPTOR), os.fstat(opened).st_size
    os.dup2(opened, DESCRIPTOR)
    try:
        yield
    finally:
        os.dup2(before, DESCRIPTOR)
        grown = os.fstat(opened).st_size > size
        os.close(before)
        os.close(opened)
        if grown:
            say(f"what its processes printed is in {folder / FILE}")


def _opened(path: Path) -> int | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError:
        return None


def keep_small(folder: Path) -> None:
    """Begin the file anew when it is too large: a game may print at every step."""
    path = folder / FILE
    try:
        if path.stat().st_size > MOST_BYTES:
            os.truncate(path, 0)
    except OSError:
        """It is not there, or the disk refuses, and a later call tries again."""
