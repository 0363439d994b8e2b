"""Does work that was requested of the service: `python -P -m arena.programs.job NUMBER DATA`.

The process is on a leash. It writes how far it is, and at its end its report, to a file, twice a
second at most. Exit codes are those of the command that does the same.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arena.cli.verify import verified
from arena.data.ending import leave_ending
from arena.data.paths import league_path, match_report_file
from arena.league.database import open_league
from arena.league.job_requests import JobRequest, get_job
from arena.programs.leash import on_leash
from arena.verification.report import VerifyReport, VerifyRequest
from pbt.errors import PbtError
from pbt.files import write_whole

INTERRUPTED = 130
TELL_EVERY_S = 0.5


class JobReport:
    """The file that says how far the work is, whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path, self._due_s = path, 0.0
        self._progress: dict[str, tuple[int, int | None]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)

    def look(self, what: str, done: int, total: int | None) -> None:
        """Note how much is done; write it if it is due."""
        self._progress[what] = done, total
        if time.monotonic() >= self._due_s:
            self.tell(None)
            self._due_s = time.monotonic() + TELL_EVERY_S

    def tell(self, report: Mapping[str, Any] | None) -> None:
        """Write it now. report: of the finished work"""
        progress = [
            {"what": what, "done": done, "total": total}
            for what, (done, total) in self._progress.items()
        ]
        told = {"progress": progress, "report": report}
        write_whole(self._path, json.dumps(told, ensure_ascii=False, allow_nan=False))


def verification_report(report: VerifyReport) -> dict[str, Any]:
    """The report as plain values, every field under a name of its own."""
    chain = report.chain
    return {
        "kind": report.kind,
        "name": report.name,
        "ok": report.ok,
        "head": chain.head,
        "records": chain.records,
        "begun_at": chain.begun_at,
        "rows_before": dict(chain.unknown),
        "rows_recorded": dict(chain.rows),
        "games_folded": chain.folded,
        "seen_heads": dict(chain.seen),
        "counts": dict(report.counts),
        "played_again": None if report.replays is None else asdict(report.replays),
        "notes": list(report.notes),
        "differences": [asdict(difference) for difference in report.differences],
    }


def verify(data: Path, request: JobRequest, told: JobReport) -> None:
    """Verify a population, a match or the imports. No file of a user is run."""
    asked = request.asked
    wanted = VerifyRequest(asked["head"], asked["replay"], allow_files=False)
    told.tell(verification_report(verified(data, asked["name"], wanted, told.look)))


def main() -> int:
    """Returns the exit code. An error that a user can mend is one line on standard error."""
    number, data = int(sys.argv[1]), Path(sys.argv[2])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with open_league(league_path(data), read_only=True) as league:
            request = get_job(league, number)
        told = JobReport(match_report_file(data, number))
        told.tell(None)
        match request.kind:
            case "verification":
                verify(data, request, told)
    except PbtError as error:
        print(f"error: {error}", file=sys.stderr)
        leave_ending(error)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(on_leash(main))
