"""The command line as a child of another: `python -P -m arena.tethered PARENT ...`. When that process dies, this one saves and stops."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def tether(parent: int) -> None:
    """To be called first. parent: the pid of who started this process; if that is gone already this one ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    tether(int(sys.argv[1]))
    from arena.cli.app import run

    sys.exit(run(sys.argv[2:]))
