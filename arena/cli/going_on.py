"""A word now and then while a command works and has nothing else to say."""

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Self

FIRST_S = 2.0
LONGEST_S = 60.0
# A terminal that takes no more output, after Ctrl-S for example, holds up no end for longer.
LAST_WORD_S = 1.0


class GoingOn:
    """Says on standard error that work goes on: after two seconds, then after ever longer times.

    work  what goes on, in words, now
    """

    def __init__(self, work: Callable[[], str], tell: Callable[[str], None] | None = None) -> None:
        # The stream of now: while a game's code runs, sys.stderr is another one (pbt.envs.voice).
        self._work, self._tell = work, tell or partial(print, file=sys.stderr, flush=True)
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="going-on", daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.end()

    def end(self) -> None:
        """Nothing more is said, and a stream that is closed after this meets no late word."""
        self._over.set()
        if self._watcher.is_alive():
            self._watcher.join(LAST_WORD_S)

    def _watch(self) -> None:
        began_s, pause_s = time.monotonic(), FIRST_S
        while not self._over.wait(pause_s):
            self._tell(f"{self._work()} ({time.monotonic() - began_s:.0f} s so far)")
            pause_s = min(2 * pause_s, LONGEST_S)
