"""A leash: a process saves and stops when its standard input ends.

The process that started it holds the other end of the pipe. The kernel closes that end when the
holder dies, even by SIGKILL.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

# From the end of the input to the end of the process by SIGKILL.
SAVE_TIMEOUT_S = 14.0


def stop_at_end(descriptor: int, save_timeout_s: float = SAVE_TIMEOUT_S) -> None:
    """Read to the end of the stream, ask this process to save and stop, then end it.

    The children of this process end when it does.
    """
    while os.read(descriptor, 1 << 12):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(save_timeout_s)
    os.kill(os.getpid(), signal.SIGKILL)


def on_leash(act: Callable[[], int]) -> int:
    """Run `act`, which is asked to stop as by Ctrl-C. Returns its exit code.

    A training replaces the signal handler by its own (`arena.signals`).
    """
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(
        target=stop_at_end, args=(sys.stdin.fileno(),), daemon=True, name="leash"
    ).start()
    return act()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt once: a second SIGTERM must not interrupt the saving."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
