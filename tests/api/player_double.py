"""A double for a process that plays a match: it plays no game, but keeps the contract.

The contract is that of `arena.programs.match`: leash, report file, exit codes, going on where it
stopped. Each step waits until the service has read the one before, however slow the machine is:
the service reports all of them.

The first player of its evaluation says what it does: `quick` ends, `endless` plays until it is
told to stop, `breaks` ends by itself at each start.
"""

import json
import sys
import time
from pathlib import Path

import api
from arena.data.paths import league_path, match_report_file
from arena.league.database import League, open_league
from arena.league.match_requests import get_match_request
from arena.programs.leash import on_leash

EXAMPLE = Path(api.__file__).parent / "examples" / "getEvaluation.json"
REPORT = {
    **json.loads(EXAMPLE.read_text(encoding="utf-8"))["answers"]["200"]["report"],
    "kind": "duel",
    "env": "connect_four",
    "planned": 400,
    "score": 0.5,
    "elo": 0.0,
    "elo_low": None,
    "elo_high": None,
    "los": 0.5,
    "wins": 1,
    "draws": 0,
    "losses": 1,
    "verdict": "not decided",
}
STEP = 100
READ_LIMIT_S = 10.0


def wait_until_read(league: League, number: int, games: int) -> None:
    limit = time.monotonic() + READ_LIMIT_S
    while time.monotonic() < limit:
        report = get_match_request(league, number).report
        if report is not None and report["games"] == games:
            return
        time.sleep(0.01)
    raise TimeoutError(f"no service read {games} games within {READ_LIMIT_S:.0f} s")


def main() -> int:
    number, data = int(sys.argv[1]), Path(sys.argv[2])
    with open_league(league_path(data)) as league:
        return play(league, number, data)


def play(league: League, number: int, data: Path) -> int:
    asked = get_match_request(league, number)
    path, name = match_report_file(data, number), asked.request.players[0]
    with path.with_name("starts").open("a") as file:
        file.write("start\n")
    games = json.loads(path.read_text())["games"] if path.exists() else 0
    try:
        while games < REPORT["planned"] or name == "endless":
            games += STEP
            half = 0.5 / (1 + games)
            path.with_suffix(".part").write_text(
                json.dumps({**REPORT, "games": games, "low": 0.5 - half, "high": 0.5 + half})
            )
            path.with_suffix(".part").replace(path)
            if name == "breaks":
                print("error: broken")
                return 1
            wait_until_read(league, number, games)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(on_leash(main))
