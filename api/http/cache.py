"""A cache of costly answers: each is computed once for each revision of the league."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

FRESH_S = 2.0
MAX_ENTRIES = 64


@dataclass(frozen=True, slots=True)
class Cached:
    """An answer that was computed.

    revision  of the league when the body was computed
    body      the bytes of the answer
    looked_s  when the revision was last compared, in seconds of the cache's clock
    """

    revision: str
    body: bytes
    looked_s: float


class RevisionCache:
    """Answers by name, each valid as long as the league's revision stays the same.

    Callers that ask for the same answer at the same time wait for one computation. Within FRESH_S
    an answer is given without a look at the league.
    """

    def __init__(
        self, revision: Callable[[], str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._revision, self._clock = revision, clock
        self._entries: OrderedDict[str, Cached] = OrderedDict()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, name: str, compute: Callable[[], bytes]) -> Cached:
        """The answer of this name. name: the request with its parameters."""
        with self._lock:
            mine = self._locks.setdefault(name, threading.Lock())
        with mine:
            entry = self._entries.get(name)
            now = self._clock()
            if entry is not None and now - entry.looked_s < FRESH_S:
                return entry
            try:
                revision = self._revision()
                body = entry.body if entry is not None and entry.revision == revision else compute()
            except BaseException:
                self._forget(name)
                raise
            return self._keep(name, Cached(revision, body, now))

    @property
    def names(self) -> list[str]:
        """The names of all answers that are kept or being computed."""
        with self._lock:
            return list(self._locks)

    def _forget(self, name: str) -> None:
        """Drop a name that failed. Callers make the names, so the failed ones must not pile up."""
        with self._lock:
            self._entries.pop(name, None)
            self._locks.pop(name, None)

    def _keep(self, name: str, entry: Cached) -> Cached:
        with self._lock:
            self._entries[name] = entry
            self._entries.move_to_end(name)
            while len(self._entries) > MAX_ENTRIES:
                oldest, _ = self._entries.popitem(last=False)
                self._locks.pop(oldest, None)
        return entry
