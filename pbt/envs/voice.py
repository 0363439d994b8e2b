"""What games print stays out of a program's results and of its display.

A program whose results leave by another descriptor than 1 has kept that one for everything else
(`arena.standard_streams`): what games print, their errors too, goes there. Elsewhere, for example
in a user's own script, games print as they like. A process plays its games in one thread; what
other threads say meanwhile goes to the stream that they took at their start.
"""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from pbt.envs.contract import Game

DESCRIPTOR = 1
_CALLS = ("reset", "step", "outcome", "close")


def apart() -> bool:
    """Whether `print` leads to another place than this descriptor."""
    try:
        return sys.stdout.fileno() != DESCRIPTOR
    except (AttributeError, OSError, ValueError):  # none at all, or a stream without a descriptor
        return True


@contextmanager
def aside() -> Iterator[None]:
    """In this block `print` reaches neither the results nor the display."""
    if not apart():
        yield
        return
    before, voice = (sys.stdout, sys.stderr), _voice()
    sys.stdout = sys.stderr = voice
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def quiet(game: Game) -> Game:
    """The game, whose calls print aside. Where results are not apart they cost nothing more."""
    if apart():
        voice = _voice()
        for name in _CALLS:
            setattr(game, name, _aside(getattr(game, name), voice))
    return game


def _aside(call: Callable[..., Any], voice: TextIO) -> Callable[..., Any]:
    def spoken(*given: Any) -> Any:
        before = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = voice
        try:
            return call(*given)
        finally:
            sys.stdout, sys.stderr = before

    return spoken


def _voice() -> TextIO:
    raw = io.FileIO(DESCRIPTOR, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
