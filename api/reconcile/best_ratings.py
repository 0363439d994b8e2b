"""The ratings of the best for the metrics, computed again once a minute where games came."""

import threading
import time

import structlog

from api.http.observability import Observed
from arena.league.best_rating import best_ratings
from arena.league.database import League
from arena.league.paging import league_revision
from arena.league.supervised import list_supervised
from pbt.errors import PbtError

RATE_EVERY_S = 60.0
"""Ratings of a large league take a tenth of a second of a core that trains."""

log = structlog.stdlib.get_logger("api.metrics")


class BestRatings:
    """Keeps the metrics of the best up to date, in the threads that ask for them."""

    def __init__(self, league: League, observed: Observed) -> None:
        self._league, self._observed = league, observed
        self._lock = threading.Lock()
        self._rated_s = -RATE_EVERY_S
        self._revision = ""

    def measure(self) -> None:
        """Set the metrics, unless that was done within the last minute or no game came since.

        While the league cannot be read they stay as they were.
        """
        with self._lock:
            if time.monotonic() - self._rated_s < RATE_EVERY_S:
                return
            self._rated_s = time.monotonic()
            try:
                revision = league_revision(self._league)
                if revision == self._revision:
                    return
                for row in list_supervised(self._league):
                    self._observed.rated(row.name, best_ratings(self._league, row.name))
                self._revision = revision
            except PbtError as error:
                log.debug("no ratings for the metrics", error=str(error))
