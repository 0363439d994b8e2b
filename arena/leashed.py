"""The command line on a leash: `python -P -m arena.leashed ARGUMENTS...`. At the end of its standard input it saves and stops.

Whoever started it holds the other end of a pipe; the kernel closes that end when the holder dies, however it dies.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

SAVE_TIMEOUT_S = 14.0
"""From the end of the input to the end of the process, whatever it waits for."""


def watch(descriptor: int, save_timeout_s: float = SAVE_TIMEOUT_S) -> None:
    """Read to the end of the stream, then ask this process to save and stop, then end it. Its own children end when it does."""
    while os.read(descriptor, 1 << 12):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(save_timeout_s)
    os.kill(os.getpid(), signal.SIGKILL)


def on_leash(act: Callable[[], int]) -> int:
    """`act`, which may be asked to stop as by Ctrl-C; who trains replaces that by handlers of its own (arena.control). Returns its exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(target=watch, args=(sys.stdin.fileno(),), daemon=True, name="leash").start()
    return act()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Once: a holder that asks, and then dies, must not break what is being saved."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> int:
    from arena.cli.app import run

    return on_leash(lambda: run(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
