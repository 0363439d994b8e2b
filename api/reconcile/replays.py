"""Replays of stored games for the dashboard, each computed in a process of its own.

A few run at the same time. Reports are cached, since a stored game never changes.
"""

import threading
from collections import OrderedDict

from api.http.problems import Problem
from api.http.settings import Settings
from api.reconcile.asking import answer_of
from api.reconcile.trainer_process import complaint

AT_ONCE = 2
PATIENCE_S = 30.0
KEPT = 64
FAULT, WRONG_INPUT = 1, 2


class Replays:
    """Runs replays and caches each report by the number of its game in the league."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._places = settings, threading.BoundedSemaphore(AT_ONCE)
        self._known: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def report(self, key: int) -> bytes:
        """JSON, as `arena replay --json`. Raises: Problem for a game that cannot be played
        again.
        """
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        if not self._places.acquire(timeout=PATIENCE_S):
            raise Problem(
                "too-many-requests",
                f"{AT_ONCE} games are being replayed; try again",
                headers={"retry-after": "5"},
            )
        try:
            found = self._played(key)
        finally:
            self._places.release()
        with self._lock:
            self._known[key] = found
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return found

    def _played(self, key: int) -> bytes:
        command = [*self._settings.replayer, str(self._settings.data), str(key)]
        codes = (0, FAULT, WRONG_INPUT)
        code, output, errors = answer_of(f"the replay of game {key}", command, codes=codes)
        if code == 0:
            return output
        why = complaint(errors.splitlines(), code)
        raise Problem("not-found" if code == WRONG_INPUT else "conflict", why)
