"""A leash: at the end of its standard input a process saves and stops.

The process that started it holds the other end of the pipe. The kernel closes that end when the
holder dies, however it dies.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

# From the end of the input to the end of the process, whatever it waits for.
SAVE_TIMEOUT_S = 14.0


def watch(descriptor: int, save_timeout_s: float = SAVE_TIMEOUT_S) -> None:
    """Read to the end of the stream, then ask this process to save and stop, then end it. Its
    own children end when it does.
    """
    while os.read(descriptor, 1 << 12):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(save_timeout_s)
    os.kill(os.getpid(), signal.SIGKILL)


def on_leash(act: Callable[[], int]) -> int:
    """`act`, which may be asked to stop as by Ctrl-C; who trains replaces that by handlers of
    its own (arena.signals). Returns its exit code.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(target=watch, args=(sys.stdin.fileno(),), daemon=True, name="leash").start()
    return act()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Once: a holder that asks, and then dies, must not break what is being saved."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
