"""Replays a stored game and prints it as JSON: `python -P -m arena.programs.replay DATA KEY`.

The process ends after LIMIT_S, even if the game hangs. Exit codes: 0, also where the replay differs
from the stored game (`problems` says how); 1 or 2 with a line on standard error.
"""

import json
import os
import signal
import sys
from contextlib import redirect_stdout
from pathlib import Path

from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.game_names import game_of_key
from arena.matches.replay import replay
from arena.matches.replay_report import replay_json
from pbt.errors import PbtError

LIMIT_S = 60


def main() -> int:
    """Returns the exit code."""
    signal.alarm(LIMIT_S)
    data, key = Path(sys.argv[1]), int(sys.argv[2])
    try:
        with redirect_stdout(sys.stderr):
            with open_league(league_path(data), read_only=True) as league:
                named, _ = game_of_key(league, key)
            report = replay_json(named, replay(named))
    except PbtError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(json.dumps(report, allow_nan=False))
    return 0


if __name__ == "__main__":
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    sys.exit(main())
