"""Processes that a killed service left behind: trainers and processes that play matches.

The league keeps the identity of each of them. A copy of a data directory names the processes of the
original, which are left alone.
"""

from pathlib import Path

import structlog

from api.reconcile.trainer_process import LONGEST_LOOK_S, at_work
from arena.league.database import League
from arena.league.job_requests import open_jobs
from arena.league.match_requests import open_match_requests
from arena.league.supervised import list_supervised
from pbt.processes.child_process import kill_group
from pbt.processes.watched_time import WatchedTime

STRAY_TIMEOUT_S = 20.0
"""Within this time they save and end by themselves, unless they are stopped or stuck."""

log = structlog.stdlib.get_logger("api.strays")


class Strays:
    """The processes of earlier services. Made when a service starts, before it starts any."""

    def __init__(self, league: League, data: Path) -> None:
        recorded = [(row.name, row.trainer) for row in list_supervised(league)]
        recorded += [(f"evaluation {row.id}", row.process) for row in open_match_requests(league)]
        recorded += [(f"{row.kind} {row.id}", row.process) for row in open_jobs(league)]
        self._left = [(of, identity) for of, identity in recorded if identity is not None]
        self._data, self._waited = data, WatchedTime(LONGEST_LOOK_S)

    def end(self) -> None:
        """Kill those that still live after their time.

        Nothing is written to the league for that: a process that was stopped in the middle of a
        commit keeps the league's write lock, and every writer would wait for it.
        """
        if not self._left or self._waited.look() < STRAY_TIMEOUT_S:
            return
        for of, identity in self._left:
            if (pid := at_work(identity, self._data)) is not None:
                log.warning(
                    "killed: it was left by an earlier service and did not end", of=of, pid=pid
                )
                kill_group(pid)
        self._left = []
