"""A match that the service was asked for, in a process of its own on a leash: `python -P -m
arena.programs.match NUMBER DATA`.

It goes on where it stopped, keeps whole pairs when it is asked to stop, and tells how the match
stands in a file, a few times a second at most. Exit codes are those of `arena match`.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from arena.data.paths import league_path, match_report_file
from arena.league.database import League, open_league
from arena.league.match_requests import MatchRequest, get_match_request, note_match
from arena.league.matches import find_match
from arena.matches.plan import check_meeting
from arena.matches.play import MatchResult, check_test, play_match, resume_match
from arena.matches.report import match_json
from arena.players.resolve import resolve_players
from arena.programs.leash import on_leash
from arena.stats.sprt import Sprt
from pbt.errors import PbtError
from pbt.files import write_whole

SPOILED, INTERRUPTED = 4, 130
TELL_EVERY_S = 0.5
# Of a long match the statistics take their time: they get a twentieth of the match's at most.
TELL_COSTS = 20


class ReportWriter:
    """Writes how the match stands, whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path, self._due_s = path, 0.0
        path.parent.mkdir(parents=True, exist_ok=True)

    def look(self, so_far: Callable[[], MatchResult]) -> None:
        """Tell, if it is time."""
        began = time.monotonic()
        if began >= self._due_s:
            self.tell(so_far())
            ended = time.monotonic()
            self._due_s = ended + max(TELL_EVERY_S, TELL_COSTS * (ended - began))

    def tell(self, result: MatchResult) -> None:
        write_whole(self._path, json.dumps(match_json(result), ensure_ascii=False, allow_nan=False))


def play(league: League, data: Path, number: int) -> int:
    """Play it, or the rest of it. Raises: PbtError."""
    asked = get_match_request(league, number)
    teller = ReportWriter(match_report_file(data, number))
    try:
        result = (
            _begin(league, data, asked, teller)
            if asked.match_id is None
            else _go_on(league, data, asked.match_id, teller)
        )
    except KeyboardInterrupt:
        return INTERRUPTED
    teller.tell(result)
    if result.spoiled:
        raised = (
            f"the game raised in {len(result.errors)} tries of {len(result.records)} "
            "games, more than 1 %"
        )
        print(f"error: {raised}: fix the game, or what ends its engines", file=sys.stderr)
    return INTERRUPTED if result.interim else SPOILED if result.spoiled else 0


def _begin(league: League, data: Path, asked: MatchRequest, teller: ReportWriter) -> MatchResult:
    """Players of the league and registered games only: nobody's file is run, no program started."""
    request = asked.request
    spec, players = resolve_players(request.players, data, request.env)
    check_meeting(spec, players)
    check_test(players, request.sprt is not None)
    return play_match(
        *players,
        games=request.games,
        seed=request.seed,
        greedy=request.greedy,
        sprt=None if request.sprt is None else Sprt(*request.sprt),
        league=league,
        on_start=lambda match: note_match(league, asked.id, match.id),
        on_look=teller.look,
        env=spec,
    )


def _go_on(league: League, data: Path, match_id: int, teller: ReportWriter) -> MatchResult:
    """With the players as they were found when it began: "first@best" may be another one by now."""
    begun = find_match(league, match_id)
    options = (
        None if any(player.kind == "snapshot" for player in begun.players) else begun.env_options
    )
    spec, players = resolve_players(
        [player.name for player in begun.players], data, begun.env_name, options=options
    )
    return resume_match(league, begun, players, spec, on_look=teller.look)


def main() -> int:
    """Raises nothing that somebody could mend: that is one line on standard error."""
    number, data = int(sys.argv[1]), Path(sys.argv[2])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with open_league(league_path(data)) as league:
            return play(league, data, number)
    except PbtError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(on_leash(main))
