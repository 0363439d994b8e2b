"""Standard streams that cannot break the work of a program.

A stream may be missing from the start (`arena ... >&-`), or lose its reader (`arena ... | head`).
What is written to it then is dropped, and the program goes on to its end and its own exit code.
"""

import fcntl
import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

_STREAMS = ("stdin", "stdout", "stderr")


class UnreadPipe(io.FileIO):
    """A descriptor to write to, which leads nowhere once its reader has gone."""

    unread = False

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            self.unread = True
            lead_nowhere(self.fileno())
            return memoryview(data).nbytes


def secure_streams() -> None:
    """Give this process three standard streams that no reader can break. Call it once, at first.

    A missing one leads nowhere. Otherwise the next file that is opened, a database even, would take
    its number, and what a library prints would be written into that file.

    `sys.stdout` gets a descriptor of its own, for results. What else writes to the usual one, a
    game's library or a process that is started, writes to standard error (`pbt.envs.voice`).
    """
    for number, name in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            lead_nowhere(number)
            setattr(sys, name, None)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.FileIO(0, closefd=False))
    # Where a caller has put streams of its own in place, these stay.
    if sys.stdout in (None, sys.__stdout__):
        if sys.stdout is not None:
            sys.stdout.flush()
        results = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
        os.dup2(2, 1)
        sys.stdout = _secured(sys.stdout, results)
    if sys.stderr in (None, sys.__stderr__):
        sys.stderr = _secured(sys.stderr, 2)


def _secured(stream: TextIO | None, number: int) -> TextIO:
    if stream is not None:
        stream.flush()
    pipe = UnreadPipe(number, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(pipe),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="backslashreplace" if number == 2 else "strict",
        line_buffering=number == 2 or pipe.isatty(),
        write_through=number == 2,
    )


def hand_on_stdout() -> None:
    """Give standard output its usual descriptor again, before this process becomes another one."""
    sys.stdout.flush()
    with suppress(OSError):  # it has none where a test holds it
        os.dup2(sys.stdout.fileno(), 1)


def unread(stream: TextIO) -> bool:
    """Whether the reader of this stream has gone, so that a watch without an end may end."""
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return isinstance(raw, UnreadPipe) and raw.unread


def lead_nowhere(number: int) -> None:
    """Make a descriptor take everything and give nothing."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
