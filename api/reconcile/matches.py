"""Requested matches as jobs: each is played by a process of its own, supervised like a training."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from api.http.settings import Settings
from api.reconcile.job import REASON_LINES, Job
from api.reconcile.rules import USAGE, End, Ruling, Seen, Wanted, why_it_ended
from api.reconcile.trainer_process import LOG_NAME, Trainer, complaint
from arena.data.paths import match_report_file
from arena.league.database import League
from arena.league.match_requests import (
    MatchRequest,
    MatchRequestState,
    record_match_request,
)

DONE, SPOILED, INTERRUPTED = 0, 4, 130
"""Exit codes of `arena.programs.match`; USAGE is one more."""

STATES: Mapping[str, MatchRequestState] = {
    "queued": "PENDING",
    "finished": "SUCCEEDED",
    "failed": "FAILED",
    "stopped": "STOPPED",
}
"""State of a job -> state of a match request. Every other one is RUNNING."""

WORDS = {
    "running": "plays",
    "stopping": "is being cancelled",
    "stopped": "cancelled; its games stay",
}


class MatchJob(Job[MatchRequest]):
    """Runs at most one process of one match request."""

    def __init__(self, row: MatchRequest, settings: Settings, league: League) -> None:
        self._path = match_report_file(settings.data, row.id)
        super().__init__(f"evaluation {row.id}", self._path.with_name(LOG_NAME), settings)
        self._league, self._ends = league, row.restarts
        # Modification time in ns of the report file as it was read last, and the games in it.
        self._read_ns, self._games = 0, 0
        self._news: Mapping[str, Any] | None = None

    def wanted(self, row: MatchRequest) -> Wanted:
        return Wanted("stopped" if row.cancelled else "running", row.state)

    def command(self, row: MatchRequest) -> Sequence[str]:
        return [*self._settings.player, str(row.id), str(self._settings.data)]

    def known_process(self, row: MatchRequest) -> str | None:
        return row.process

    def progress(self, row: MatchRequest) -> int:
        """The number of games in the newest report, which is kept to be recorded."""
        try:
            written = self._path.stat().st_mtime_ns
        except OSError:
            return self._games
        if written != self._read_ns:
            self._read_ns = written
            report = _read(self._path)
            if report is not None:
                self._games = int(report.get("games", 0))
                self._news = None if report == row.report else report
        return self._games

    def how_it_ended(self, process: Trainer, code: int) -> End:
        if code == DONE:
            return End("finished")
        if code == INTERRUPTED:
            return End("left")
        output = process.output(REASON_LINES)
        end = why_it_ended(code, output, out_of_memory=process.ran_out_of_memory())
        if code > 0:
            end = replace(end, message=complaint(output, code))
        return replace(end, lasting=end.lasting or code in (USAGE, SPOILED))

    def record(self, row: MatchRequest, decision: Ruling | None, seen: Seen) -> None:
        if decision is None:
            return
        # A report may have come since: of an earlier service's process, too.
        self.progress(row)
        words = decision.message
        if decision.reason is None:
            words = WORDS.get(decision.state, words)
        now = replace(
            row,
            state=STATES.get(decision.state, "RUNNING"),
            message=words,
            restarts=seen.ends,
            process=self.identity(row),
        )
        if self._news is not None or now != row:
            record_match_request(
                self._league, row, now.state, now.message, now.restarts, now.process, self._news
            )
            self._news = None


def _read(path: Path) -> Mapping[str, Any] | None:
    """The report; None for a file that a crash left damaged: the next report replaces it."""
    try:
        report: Mapping[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return report
