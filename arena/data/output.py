"""What the games and the processes of a training print: `logs/output.log` of its population."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pbt.envs.voice import DESCRIPTOR, apart

FILE = "output.log"
MOST_BYTES = 4 << 20
STANDARD_ERROR = 2


@contextmanager
def printed_into(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """In this block what games print goes to the file, so that it does not cross the display.

    Only where the program's own words have descriptors of their own (`arena.standard_streams`); a
    disk that refuses the file changes nothing. say: is told of a file that has grown
    """
    opened = _opened(folder / FILE) if apart() else None
    if opened is None:
        yield
        return
    size = os.fstat(opened).st_size
    before = {number: os.dup(number) for number in _free_descriptors()}
    for number in before:
        os.dup2(opened, number)
    try:
        yield
    finally:
        for number, earlier in before.items():
            os.dup2(earlier, number)
            os.close(earlier)
        grown = os.fstat(opened).st_size > size
        os.close(opened)
        if grown:
            say(f"what its processes printed is in {folder / FILE}")


def _free_descriptors() -> list[int]:
    """Those of standard output and error by which the program itself says nothing."""
    try:
        return (
            [DESCRIPTOR] if sys.stderr.fileno() == STANDARD_ERROR else [DESCRIPTOR, STANDARD_ERROR]
        )
    except (AttributeError, OSError, ValueError):  # none at all, or without a descriptor
        return [DESCRIPTOR, STANDARD_ERROR]


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
