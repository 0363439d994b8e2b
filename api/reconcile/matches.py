"""Requested matches: each is played by a process of its own, supervised like a training.

Used from the supervisor's thread.
"""

import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog

from api.http.settings import Settings
from api.reconcile.match_rules import MatchFacts, decide_match, state_after
from api.reconcile.trainer_process import LOG_NAME, Trainer, alive, complaint
from api.reconcile.training_rules import Disk, backoff_s
from arena.data.paths import match_report_file
from arena.league.database import League
from arena.league.match_requests import (
    MatchRequest,
    MatchRequestState,
    open_match_requests,
    record_match_request,
)
from pbt.errors import PbtError

LOG_LINES = 20

log = structlog.stdlib.get_logger("api.matches")


@dataclass
class MatchJob:
    """What this service knows of one match request beyond its row.

    process     that plays it, None while there is none
    asked       when the process was asked to stop, in seconds of the monotonic clock
    retry_at    when it may be started again, on the same clock
    report_ns   modification time of its report file in ns, when that was read last
    progressed  there were new games since its process started
    """

    process: Trainer | None = None
    asked: float | None = None
    retry_at: float = 0.0
    report_ns: int = 0
    progressed: bool = False


class MatchJobs:
    """Runs at most one process per match request, and at most `max_evaluations` in all."""

    def __init__(self, settings: Settings, league: League) -> None:
        self._settings, self._league = settings, league
        self._tables: dict[int, MatchJob] = {}

    @property
    def processes(self) -> list[Trainer]:
        return [table.process for table in self._tables.values() if table.process is not None]

    def look(self, disk: Disk) -> None:
        """Take one step of each match request that is not over, oldest first."""
        waiting = open_match_requests(self._league)
        for row in waiting:
            try:
                self._step(row, self._tables.setdefault(row.id, MatchJob()), disk)
            except PbtError:
                raise
            except Exception:  # a fault of one match request must not stop the others
                log.exception("fault; looking again", evaluation=row.id)
        for number in self._tables.keys() - {row.id for row in waiting}:
            del self._tables[number]

    def _step(self, row: MatchRequest, table: MatchJob, disk: Disk) -> None:
        report = self._news(row, table)
        if table.process is not None and (code := table.process.exit_code()) is not None:
            # The report is read again: the process may have written one just before it ended.
            self._end(row, table, table.process, code, self._news(row, table) or report)
            return
        facts = self._facts(row, table, disk)
        decision = decide_match(facts)
        match decision.action:
            case "start":
                if not self._start(row, table):
                    return
            case "stop" if table.process is not None:
                table.asked = time.monotonic()
                table.process.stop()
            case "kill" if table.process is not None:
                table.process.kill()
            case _:
                pass
        process = row.process if facts.outside else None
        if table.process is not None:
            process = table.process.identity
        now = replace(row, state=decision.state, message=decision.message, process=process)
        self._keep(row, now, report)

    def _facts(self, row: MatchRequest, table: MatchJob, disk: Disk) -> MatchFacts:
        now = time.monotonic()
        outside = (
            table.process is None and row.process is not None and alive(row.process) is not None
        )
        return MatchFacts(
            cancelled=row.cancelled,
            running=table.process is not None,
            outside=outside,
            asked_s=None if table.asked is None else now - table.asked,
            grace_s=self._settings.stop_grace_s,
            wait_s=max(0.0, table.retry_at - now),
            place=len(self.processes) < self._settings.max_evaluations,
            disk=disk,
        )

    def _start(self, row: MatchRequest, table: MatchJob) -> bool:
        path = match_report_file(self._settings.data, row.id).with_name(LOG_NAME)
        try:
            table.process = Trainer(
                [*self._settings.player, str(row.id), str(self._settings.data)], path
            )
        except OSError as error:
            message = f"its process could not be started: {error}"
            self._keep(row, replace(row, state="FAILED", message=message, process=None), None)
            return False
        table.asked, table.progressed = None, False
        log.info("start", evaluation=row.id)
        return True

    def _end(
        self,
        row: MatchRequest,
        table: MatchJob,
        process: Trainer,
        code: int,
        report: Mapping[str, Any] | None,
    ) -> None:
        table.process, table.asked = None, None
        restarts = 1 if table.progressed else row.restarts + 1
        state = state_after(
            code, cancelled=row.cancelled, tries_left=restarts <= self._settings.max_restarts
        )
        log.info("ended", evaluation=row.id, code=code, state=state)
        if state == "RUNNING":
            table.retry_at = time.monotonic() + backoff_s(
                restarts, self._settings.backoff_s, self._settings.max_backoff_s, random.random()
            )
        messages: dict[MatchRequestState, str] = {
            "SUCCEEDED": "",
            "STOPPED": "cancelled; its games stay",
            "PENDING": "goes on when there is room",
        }
        message = (
            messages[state] if state in messages else complaint(process.output(LOG_LINES), code)
        )
        if state not in ("RUNNING", "FAILED"):
            restarts = 0
        now = replace(row, state=state, message=message, restarts=restarts, process=None)
        self._keep(row, now, report)

    def _news(self, row: MatchRequest, table: MatchJob) -> Mapping[str, Any] | None:
        """The newest report of its process; None when that is stored already."""
        path = match_report_file(self._settings.data, row.id)
        try:
            written = path.stat().st_mtime_ns
        except OSError:
            return None
        if written == table.report_ns:
            return None
        table.report_ns = written
        report = _read(path)
        if report is None or report == row.report:
            return None
        table.progressed = True
        return report

    def _keep(self, row: MatchRequest, now: MatchRequest, report: Mapping[str, Any] | None) -> None:
        """Record what has changed. report: the newest, None when it is stored already."""
        if report is not None or now != row:
            record_match_request(
                self._league, row, now.state, now.message, now.restarts, now.process, report
            )


def _read(path: Path) -> Mapping[str, Any] | None:
    """The report; None for a file that a crash left damaged: the next report replaces it."""
    try:
        report: Mapping[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return report
