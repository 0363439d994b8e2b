"""Plays a match request of the service: `python -P -m arena.programs.match NUMBER DATA`.

The process is on a leash. It goes on where the match stopped, keeps whole pairs when it is asked to
stop, and writes an interim report to a file, twice a second at most. Exit codes are those of
`arena match`.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from arena.data.ending import leave_ending
from arena.data.paths import league_path, match_report_file
from arena.league.database import League, open_league
from arena.league.match_requests import MatchRequest, get_match_request, note_match
from arena.league.matches import find_match
from arena.matches.deciding import ranked_by
from arena.matches.match_result import PlayedMatch
from arena.matches.plan import check_meeting
from arena.matches.play import check_test, play_match, resume_match
from arena.matches.report import match_json
from arena.players.resolve import resolve_players
from arena.programs.leash import on_leash
from arena.stats.sprt import Sprt
from pbt.errors import PbtError
from pbt.files import write_whole

SPOILED, INTERRUPTED = 4, 130
TELL_EVERY_S = 0.5
# The statistics of a long match are slow: a report is followed by a pause of this many times its
# own duration.
TELL_COSTS = 20


class ReportWriter:
    """Writes the interim report of a match, whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path, self._due_s = path, 0.0
        path.parent.mkdir(parents=True, exist_ok=True)

    def look(self, so_far: Callable[[], PlayedMatch]) -> None:
        """Write the report if it is due."""
        began = time.monotonic()
        if began >= self._due_s:
            self.tell(so_far())
            ended = time.monotonic()
            self._due_s = ended + max(TELL_EVERY_S, TELL_COSTS * (ended - began))

    def tell(self, result: PlayedMatch) -> None:
        """Write the report now."""
        write_whole(self._path, json.dumps(match_json(result), ensure_ascii=False, allow_nan=False))


def play(league: League, data: Path, number: int) -> int:
    """Play a match request, or the rest of it. Returns the exit code. Raises: PbtError."""
    match_request = get_match_request(league, number)
    report_writer = ReportWriter(match_report_file(data, number))
    try:
        result = (
            _begin(league, data, match_request, report_writer)
            if match_request.match_id is None
            else _go_on(league, data, match_request.match_id, report_writer)
        )
    except KeyboardInterrupt:
        return INTERRUPTED
    report_writer.tell(result)
    if result.spoiled:
        raised = (
            f"the game raised in {len(result.errors)} tries of {len(result.records)} "
            "games, more than 1 %"
        )
        print(f"error: {raised}: fix the game, or what ends its engines", file=sys.stderr)
    return INTERRUPTED if result.interim else SPOILED if result.spoiled else 0


def _begin(
    league: League, data: Path, match_request: MatchRequest, report_writer: ReportWriter
) -> PlayedMatch:
    """Begin the match. Only players of the league and registered games are allowed: no file of a
    user is run, and no program is started.
    """
    request = match_request.request
    spec, players = resolve_players(request.players, data, request.env)
    players = ranked_by(spec, players, request.objective)
    meeting = check_meeting(spec, players)
    check_test(meeting.seating, meeting.objective, request.sprt is not None)
    return play_match(
        *players,
        games=request.games,
        seed=request.seed,
        greedy=request.greedy,
        sprt=None if request.sprt is None else Sprt(*request.sprt),
        league=league,
        on_start=lambda match: note_match(league, match_request.id, match.id),
        on_look=report_writer.look,
        env=spec,
        objective=request.objective,
        fresh=request.fresh,
    )


def _go_on(league: League, data: Path, match_id: int, report_writer: ReportWriter) -> PlayedMatch:
    """Go on with the players of the stored match: "first@best" may name another one by now."""
    match = find_match(league, match_id)
    options = (
        None if any(player.kind == "snapshot" for player in match.players) else match.env_options
    )
    spec, players = resolve_players(
        [player.name for player in match.players], data, match.env_name, options=options
    )
    return resume_match(league, match, players, spec, on_look=report_writer.look)


def main() -> int:
    """Returns the exit code. An error that a user can mend is one line on standard error."""
    number, data = int(sys.argv[1]), Path(sys.argv[2])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with open_league(league_path(data)) as league:
            return play(league, data, number)
    except PbtError as error:
        print(f"error: {error}", file=sys.stderr)
        leave_ending(error)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(on_leash(main))
