"""Backpressure: training pauses while the league has too many finished games to commit."""

import time

from pbt.errors import PbtError
from pbt.population.interfaces import RunSink

# Training pauses beyond this many uncommitted games, and stops when the pause gets too long.
MAX_BACKLOG_GAMES = 100_000
PAUSE_TIMEOUT_S = 600.0
LOOK_EVERY_S = 0.5


class SinkBackpressure:
    """Watches a sink's backlog. The engine asks it between two turns."""

    def __init__(self, sink: RunSink) -> None:
        self._sink = sink
        self._full_since_s: float | None = None

    def full(self) -> bool:
        """Whether training must pause; then this call waits a moment for the league.

        Raises: PbtError naming the cause when the pause lasts longer than PAUSE_TIMEOUT_S.
        """
        if self._sink.backlog <= MAX_BACKLOG_GAMES:
            self._full_since_s = None
            return False
        now = time.monotonic()
        since_s = self._full_since_s = self._full_since_s or now
        try:
            self._sink.drain(LOOK_EVERY_S)
        except PbtError as error:
            if now - since_s > PAUSE_TIMEOUT_S:
                raise PbtError(
                    f"training stopped after a pause of {PAUSE_TIMEOUT_S:.0f} s: "
                    f"{self._sink.backlog} finished games wait for the league, more than "
                    f"{MAX_BACKLOG_GAMES}: {error}"
                ) from error
        return self._sink.backlog > MAX_BACKLOG_GAMES
