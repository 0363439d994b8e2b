"""The first act of every child process: its life is tied to its parent's, and Ctrl-C is left to
it.
"""

import ctypes
import os
import select
import signal
import sys

# Ctrl-C, a closed terminal and a service manager's stop reach all processes; only the main one
# decides what they mean.
LEFT_TO_MAIN = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)


_PR_SET_PDEATHSIG = 1


def settle(descriptor: int) -> None:
    """To be called first. descriptor: of the channel. Ends the process when its parent is gone
    already.

    The parent's number would not tell whether it is: in a container the main process may well be
    number 1.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for number in LEFT_TO_MAIN:
        # Not SIG_IGN: what a game starts would inherit that, and could no longer be ended by its
        # game.
        signal.signal(number, lambda *_: None)
    # They were blocked while it started.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, LEFT_TO_MAIN)
    if _at_end(descriptor):
        os._exit(0)


def _at_end(descriptor: int) -> bool:
    """The other end of the stream is closed, whatever was sent before."""
    events = select.poll()
    events.register(descriptor, 0)  # a hang-up is always told
    return any(event & select.POLLHUP for _, event in events.poll(0))


def leave(status: int) -> None:
    """Not sys.exit: threads of games and libraries must not keep a process that is told to
    leave.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
