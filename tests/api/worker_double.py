"""A double for a process that does requested work: it does none, but keeps the contract.

The contract is that of `arena.programs.job`: leash, report file, exit codes. The name in what was
asked says what it does: `match:1` ends at once, `imported` and `endless` go on until they are told
to stop; `stopped` ends as a comparison of which a person has stopped a training.
"""

import json
import sys
import time
from pathlib import Path

from arena.data.ending import leave_ending
from arena.data.paths import league_path, match_report_file
from arena.league.database import open_league
from arena.league.job_requests import get_job
from arena.programs.leash import on_leash
from pbt.errors import StoppedError

REPORT = {
    "kind": "match",
    "name": "match:1",
    "ok": True,
    "head": "0" * 64,
    "records": 1,
    "begun_at": None,
    "rows_before": {},
    "rows_recorded": {"game": 2},
    "games_folded": 0,
    "seen_heads": {},
    "counts": {},
    "played_again": None,
    "notes": [],
    "differences": [],
}


def main() -> int:
    number, data = int(sys.argv[1]), Path(sys.argv[2])
    with open_league(league_path(data), read_only=True) as league:
        asked = get_job(league, number).asked
    path = match_report_file(data, number)
    progress = [{"what": "rows", "done": 1, "total": 2}]
    path.write_text(json.dumps({"progress": progress, "report": None}))
    try:
        while asked.get("name") in ("imported", "endless"):
            time.sleep(0.01)
    except KeyboardInterrupt:
        return 130
    if asked.get("name") == "stopped":
        error = StoppedError("stopped-a1 was stopped")
        print(f"error: {error}", file=sys.stderr)
        leave_ending(error)
        return error.exit_code
    path.write_text(json.dumps({"progress": progress, "report": REPORT}))
    return 0


if __name__ == "__main__":
    sys.exit(on_leash(main))
