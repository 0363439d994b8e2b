"""The time in which a process watched for something.

A process that waits for another one may itself be stopped (Ctrl-Z, a debugger, a frozen container)
or get no processor. Its clock runs on meanwhile, but it saw nothing, and the other one may have
answered long ago. So a limit on waiting counts the time that was watched, not the time that passed.
"""

import time

LOOK_EVERY_S = 0.25
"""The longest wait between two looks, unless a watcher says otherwise."""


class WatchedTime:
    """Counts the seconds in which this process watched, from its creation on.

    Wait no longer than `slice_s` at a time, see what has come, and call `look`. Use it from one
    thread.

    most_s  the most that one look adds, for a watcher that looks less often
    """

    def __init__(self, most_s: float = LOOK_EVERY_S) -> None:
        self._most_s, self._watched_s, self._looked_s = most_s, 0.0, time.monotonic()

    def look(self) -> float:
        """The seconds watched so far. A longer time since the last look counts as `most_s`."""
        now_s = time.monotonic()
        self._watched_s += min(now_s - self._looked_s, self._most_s)
        self._looked_s = now_s
        return self._watched_s

    def slice_s(self, limit_s: float) -> float:
        """How long the next wait may be, for a limit on the whole: 0 when it is used up."""
        return min(max(0.0, limit_s - self.look()), self._most_s)
