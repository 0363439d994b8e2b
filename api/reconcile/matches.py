"""Requested matches as jobs: each is played by a process of its own, supervised like a training."""

from collections.abc import Mapping, Sequence
from typing import Any

from api.http.settings import Settings
from api.reconcile.reported import ReportedJob, RequestState
from arena.league.database import League
from arena.league.match_requests import MatchRequest, record_match_request


class MatchJob(ReportedJob[MatchRequest]):
    """Runs at most one process of one match request."""

    words = {
        "running": "plays",
        "stopping": "is being cancelled",
        "stopped": "cancelled; its games stay",
    }

    def __init__(self, row: MatchRequest, settings: Settings, league: League) -> None:
        super().__init__(f"evaluation {row.id}", row, settings, league)

    def command(self, row: MatchRequest) -> Sequence[str]:
        return [*self._settings.player, str(row.id), str(self._settings.data)]

    def done_in(self, report: Mapping[str, Any]) -> int:
        """The number of games."""
        return int(report.get("games", 0))

    def store(
        self,
        row: MatchRequest,
        state: RequestState,
        message: str,
        restarts: int,
        process: str | None,
        report: Mapping[str, Any] | None,
    ) -> None:
        record_match_request(self._league, row, state, message, restarts, process, report)
