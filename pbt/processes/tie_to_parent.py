"""The first act of a child process: it ties its life to its parent's, and leaves Ctrl-C to it."""

import ctypes
import os
import select
import signal
import sys
from typing import NoReturn

# Ctrl-C, a closed terminal and a service manager's stop reach all processes; only the main one
# decides what they mean.
LEFT_TO_MAIN = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
_PR_SET_PDEATHSIG = 1


def settle(descriptor: int) -> None:
    """Call this first. It ends the process when its parent is gone already.

    descriptor  of the channel to the parent, whose closed end is the sign: the parent's pid would
                not tell, since in a container the main process may well be number 1
    """
    die_with_parent()
    for number in LEFT_TO_MAIN:
        # Not SIG_IGN: what a game starts would inherit that, and could no longer be ended by its
        # game.
        signal.signal(number, lambda *_: None)
    # They were blocked while it started.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, LEFT_TO_MAIN)
    if _at_end(descriptor):
        os._exit(0)


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _at_end(descriptor: int) -> bool:
    """True when the other end of the stream is closed, whatever was sent before."""
    events = select.poll()
    events.register(descriptor, 0)  # a hang-up is always told
    return any(event & select.POLLHUP for _, event in events.poll(0))


def leave(status: int) -> NoReturn:
    """End this process at once.

    `sys.exit` would wait for the threads of games and libraries.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
