"""Jobs whose process writes a report to a file: matches, and other work that was requested."""

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

from api.http.settings import Settings
from api.reconcile.job import REASON_LINES, Job
from api.reconcile.rules import USAGE, End, Ruling, Seen, Wanted, why_it_ended
from api.reconcile.trainer_process import LOG_NAME, Trainer, complaint
from arena.data.paths import match_report_file
from arena.league.database import League

DONE, SPOILED, INTERRUPTED = 0, 4, 130
"""Exit codes of `arena.programs.match` and `arena.programs.job`; USAGE is one more."""

RequestState = Literal["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]
STATES: Mapping[str, RequestState] = {
    "queued": "PENDING",
    "finished": "SUCCEEDED",
    "failed": "FAILED",
    "stopped": "STOPPED",
}
"""State of a job -> state of its request. Every other one is RUNNING."""


class RequestRow(Protocol):
    """What the rows of all requests have."""

    @property
    def id(self) -> int: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def state(self) -> RequestState: ...
    @property
    def message(self) -> str: ...
    @property
    def restarts(self) -> int: ...
    @property
    def process(self) -> str | None: ...
    @property
    def report(self) -> Mapping[str, Any] | None: ...


R = TypeVar("R", bound=RequestRow)


class ReportedJob(Job[R], Generic[R]):
    """Runs at most one process of one request.

    words   state of the job -> what is told of it, where nothing went wrong
    trains  it takes the place of a training, and not that of a match
    """

    words: Mapping[str, str]
    trains = False

    def __init__(self, name: str, row: R, settings: Settings, league: League) -> None:
        self._path = match_report_file(settings.data, row.id)
        super().__init__(name, self._path.with_name(LOG_NAME), settings)
        self._league, self._ends = league, row.restarts
        # Modification time in ns of the report file as it was read last, and what was done in it.
        self._read_ns, self._done = 0, 0
        self._news: Mapping[str, Any] | None = None

    @abstractmethod
    def done_in(self, report: Mapping[str, Any]) -> int:
        """A number that grows with what is kept."""

    @abstractmethod
    def store(
        self,
        row: R,
        state: RequestState,
        message: str,
        restarts: int,
        process: str | None,
        report: Mapping[str, Any] | None,
    ) -> None:
        """Store what was observed. report: None keeps the stored one."""

    def wanted(self, row: R) -> Wanted:
        return Wanted("stopped" if row.cancelled else "running", row.state)

    def known_process(self, row: R) -> str | None:
        return row.process

    def progress(self, row: R) -> int:
        """What is done in the newest report, which is kept to be recorded."""
        try:
            written = self._path.stat().st_mtime_ns
        except OSError:
            return self._done
        if written != self._read_ns:
            self._read_ns = written
            report = _read(self._path)
            if report is not None:
                self._done = self.done_in(report)
                self._news = None if report == row.report else report
        return self._done

    def how_it_ended(self, process: Trainer, code: int) -> End:
        if code == DONE:
            return End("finished")
        ending = process.ending()
        if code == INTERRUPTED and ending is None:
            return End("left")
        output = process.output(REASON_LINES)
        memory = process.ran_out_of_memory()
        end = why_it_ended(code, output, ending, out_of_memory=memory)
        if code > 0:
            end = replace(end, message=complaint(output, code))
        return replace(end, lasting=end.lasting or code in (USAGE, SPOILED))

    def record(self, row: R, decision: Ruling | None, seen: Seen) -> None:
        if decision is None:
            return
        # A report may have come since: of an earlier service's process, too.
        self.progress(row)
        words = decision.message
        quit_by_itself = seen.end is not None and seen.end.how == "quit"
        if decision.reason is None and not quit_by_itself:
            words = self.words.get(decision.state, words)
        now = (STATES.get(decision.state, "RUNNING"), words, seen.ends, self.identity(row))
        if self._news is not None or now != (row.state, row.message, row.restarts, row.process):
            self.store(row, *now, self._news)
            self._news = None


def _read(path: Path) -> Mapping[str, Any] | None:
    """The report; None for a file that a crash left damaged: the next report replaces it."""
    try:
        report: Mapping[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return report
