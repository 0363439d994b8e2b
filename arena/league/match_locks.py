"""Locks of matches: one process plays a match at a time."""

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from arena.league.database import League
from pbt.errors import HeldError


@contextmanager
def match_lock(league: League, match_id: int) -> Iterator[None]:
    """Locks a match, so that no other process plays it. Raises: HeldError while one plays it.

    The lock is on one byte, that of the match's number, in a file beside the league. The operating
    system releases it when this process ends, also when it is killed.
    """
    descriptor = _open_locks(league)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _lock_of(match_id))
    except OSError as error:
        os.close(descriptor)
        raise HeldError(
            f"match {match_id} is being played by another process; wait for it, or end that "
            "process first"
        ) from error
    try:
        yield
    finally:
        os.close(descriptor)


def is_held(league: League, match_id: int) -> bool:
    """Whether a process plays this match now."""
    descriptor = _open_locks(league)
    try:
        held = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _lock_of(match_id))
    finally:
        os.close(descriptor)
    return int(struct.unpack_from("h", held)[0]) != fcntl.F_UNLCK


def _open_locks(league: League) -> int:
    return os.open(
        league.path.with_name("matches.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644
    )


def _lock_of(match_id: int) -> bytes:
    """struct flock: type, whence, start, length, pid.

    The lock belongs to the open file, not to the process, because any thread may play a match.
    """
    return struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, match_id, 1, 0)
