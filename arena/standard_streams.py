"""Standard streams that cannot break the work of a program.

A stream may be missing from the start (`arena ... >&-`), or lose its reader (`arena ... | head`).
What is written to it then is dropped, and the program goes on to its end and its own exit code. So
are messages that a full disk does not take; results that it does not take are an error.
"""

import fcntl
import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

_STREAMS = ("stdin", "stdout", "stderr")


class UnreadPipe(io.FileIO):
    """A descriptor to write to, which leads nowhere once its reader has gone.

    unread  whether the reader has gone
    """

    unread = False

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            self.unread = True
            lead_nowhere(self.fileno())
            return memoryview(data).nbytes


class MessagePipe(UnreadPipe):
    """A descriptor for messages: what a full disk or a lost terminal does not take is dropped.

    A message that cannot be written must not end a training.
    """

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def secure_streams() -> None:
    """Give this process three standard streams that no reader can break. Call it once, at first.

    A missing one leads nowhere. Otherwise the next file that is opened, a database even, would take
    its number, and what a library prints would be written into that file.

    `sys.stdout` and `sys.stderr` get descriptors of their own, for the program's words. What else
    writes to the usual ones, a game's library or a process that is started, writes to standard
    error, until a training leads both into a file (`pbt.envs.voice`, `arena.data.output`).
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
        results = _own_descriptor(1)
        os.dup2(2, 1)
        sys.stdout = _secured(sys.stdout, results)
    if sys.stderr in (None, sys.__stderr__):
        sys.stderr = _secured(sys.stderr, _own_descriptor(2), for_errors=True)


def _own_descriptor(number: int) -> int:
    """Another descriptor that leads to the same place, and that no process inherits."""
    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3)


def _secured(stream: TextIO | None, number: int, *, for_errors: bool = False) -> TextIO:
    if stream is not None:
        stream.flush()
    pipe = (MessagePipe if for_errors else UnreadPipe)(number, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(pipe),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="backslashreplace",  # a letter that a terminal does not know costs no result
        line_buffering=for_errors or pipe.isatty(),
        write_through=for_errors,
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
