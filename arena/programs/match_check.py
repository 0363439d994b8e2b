"""Checks a match before it is requested: `python -P -m arena.programs.match_check DATA`.

It reads the request (`arena.league.match_requests.RequestedMatch`) from standard input and writes
`{"problem": TEXT or null}`, both as JSON. It is a process of its own because it makes the game.
Only players of the league and registered games are allowed.
"""

import json
import signal
import sys
from pathlib import Path

import msgspec

from arena.league.match_requests import RequestedMatch
from arena.matches.plan import check_meeting, check_objective
from arena.matches.play import check_test
from arena.players.resolve import resolve_players
from pbt.errors import PbtError
from pbt.snapshots import FileSnapshotStore

LIMIT_S = 60


def problem_of(request: RequestedMatch, data: Path) -> str | None:
    """Why the match cannot be played, None when it can."""
    try:
        spec, players = resolve_players(request.players, data, request.env)
        if request.objective is not None:
            check_objective(spec, players[0].env_options, request.objective)
        meeting = check_meeting(spec, players, request.objective)
        check_test(meeting.seating, meeting.objective, request.sprt is not None)
    except PbtError as error:
        return str(error)
    for player in players:
        if player.snapshots is not None:
            path = FileSnapshotStore(player.snapshots).path(player.ref.name)
            if not path.is_file():
                return (
                    f"player {player.label}: its weights are lost: no file {path.name[:12]}...; "
                    "restore it from a backup, or choose another snapshot"
                )
    return None


def main() -> None:
    signal.alarm(LIMIT_S)
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=RequestedMatch)
    print(json.dumps({"problem": problem_of(request, Path(sys.argv[1]))}))


if __name__ == "__main__":
    main()
