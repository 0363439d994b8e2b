"""Deletions of populations, in a thread of their own: many games take minutes to remove."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import structlog

from arena.league.database import League
from arena.league.deletion import delete
from arena.league.operations import finish_operations
from arena.league.supervised import ObservedState, Supervised, record
from pbt.errors import PlayerError

log = structlog.stdlib.get_logger("api.deletions")


class Deletions:
    """The deletions that run.

    data   the data directory
    awake  called from another thread when one has ended
    """

    def __init__(self, data: Path, league: League, awake: Callable[[], None]) -> None:
        self._data, self._league, self._awake = data, league, awake
        self._running: dict[str, Future[None]] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="deletion")

    def step(self, name: str, row: Supervised | None) -> None:
        """Begin the deletion of a population, or record how it ended.

        row  None when it is gone already: a service that was killed may have left files
        """
        running = self._running.get(name)
        if running is None:
            if row is not None:
                message = "its rows and files are being removed"
                seen = ObservedState("deleting", "delete", message, 0, None)
                record(self._league, name, seen, row.revision)
                finish_operations(self._league, name, "RUNNING", None, ("delete",))
            self._running[name] = self._pool.submit(delete, self._data, name)
            self._running[name].add_done_callback(lambda _: self._awake())
        elif running.done():
            del self._running[name]
            self._ended(name, row, running.exception())

    def _ended(self, name: str, row: Supervised | None, error: BaseException | None) -> None:
        if row is None and (error is None or isinstance(error, PlayerError)):
            # PlayerError: there was nothing left to remove.
            finish_operations(self._league, name, "SUCCEEDED", None, ("delete",))
        elif error is not None:
            if row is not None:
                log.warning("deletion failed", population=name, error=str(error))
                message = f"not removed: {error}"
                seen = ObservedState("stopped", "delete", message, 0, None, settle="stopped")
                record(self._league, name, seen, row.revision)
            finish_operations(self._league, name, "FAILED", str(error), ("delete",))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
