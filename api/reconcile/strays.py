"""Processes that a killed service left behind: trainers and processes that play matches.

The league keeps the identity of each of them. A copy of a data directory names the processes of the
original, which are left alone.
"""

import threading
from pathlib import Path

import structlog

from api.reconcile.trainer_process import at_work
from arena.league.database import League
from arena.league.job_requests import open_jobs
from arena.league.match_requests import open_match_requests
from arena.league.supervised import list_supervised
from pbt.processes.child_process import kill_group
from pbt.processes.watched_time import LOOK_EVERY_S, WatchedTime

STRAY_TIMEOUT_S = 20.0
"""Within this time they save and end by themselves, unless they are stopped or stuck."""

log = structlog.stdlib.get_logger("api.strays")


class Strays:
    """The processes of earlier services. Made when a service starts, before it starts any.

    A thread of its own watches them. The supervisor's may wait for the league's write lock, which a
    process that was stopped in the middle of a commit keeps; so nothing is written here either.
    """

    def __init__(self, league: League, data: Path) -> None:
        recorded = [(row.name, row.trainer) for row in list_supervised(league)]
        recorded += [(f"evaluation {row.id}", row.process) for row in open_match_requests(league)]
        recorded += [(f"{row.kind} {row.id}", row.process) for row in open_jobs(league)]
        self._left = [(of, identity) for of, identity in recorded if identity is not None]
        self._data, self._closing = data, threading.Event()
        self._thread = threading.Thread(target=self._watch, name="strays")

    def start(self) -> None:
        """Begin to watch, where there is one."""
        if self._left:
            self._thread.start()

    def close(self) -> None:
        """Leave those that still live to the next service. May be called again."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        """Kill those that still live after their time."""
        watched = WatchedTime()
        while watched.look() < STRAY_TIMEOUT_S:
            if not self._at_work() or self._closing.wait(LOOK_EVERY_S):
                return
        for of, pid in self._at_work():
            log.warning("killed: it was left by an earlier service and did not end", of=of, pid=pid)
            kill_group(pid)

    def _at_work(self) -> list[tuple[str, int]]:
        pids = [(of, at_work(identity, self._data)) for of, identity in self._left]
        return [(of, pid) for of, pid in pids if pid is not None]
