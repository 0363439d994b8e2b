"""Requested work other than matches as jobs, each with a process of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from api.http.settings import Settings
from api.reconcile.reported import ReportedJob, RequestState
from arena.league.database import League
from arena.league.job_requests import JobKind, JobRequest, record_job

GO_ON: tuple[JobKind, ...] = ("tournament", "comparison")
"""What they did is kept: after a death they go on. The others begin anew."""


class RequestedJob(ReportedJob[JobRequest]):
    """Runs at most one process of one request."""

    words = {
        "running": "works",
        "stopping": "is being cancelled",
        "stopped": "cancelled",
    }

    def __init__(self, row: JobRequest, settings: Settings, league: League) -> None:
        super().__init__(f"{row.kind} {row.id}", row, settings, league)
        self._goes_on = row.kind in GO_ON
        self.trains = row.kind == "comparison"

    def command(self, row: JobRequest) -> Sequence[str]:
        return [*self._settings.worker, str(row.id), str(self._settings.data)]

    def done_in(self, report: Mapping[str, Any]) -> int:
        """How much of its parts is kept, and 1 once it works."""
        return 1 + (sum(part["done"] for part in report["progress"]) if self._goes_on else 0)

    def store(
        self,
        row: JobRequest,
        state: RequestState,
        message: str,
        restarts: int,
        process: str | None,
        report: Mapping[str, Any] | None,
    ) -> None:
        record_job(self._league, row, state, message, restarts, process, report)
