"""What each player of a match won, drew, lost and returned, for lists of matches.

Games that were played count, but for voided ones, so the numbers of an open match grow.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from arena.league.database import League
from arena.league.matches import Match
from arena.league.rows import to_player
from arena.league.schema import keys_of_match
from pbt.records import PlayerRef

MAX_KEPT = 4096
"""Most finished matches that are cached; the least recently requested is evicted first."""

# A player in several seats of a game has the best of its places, and the mean of its returns.
_SUMS = text("""
WITH seated AS MATERIALIZED (
    SELECT json_extract(r.value, '$[0]') AS match, g.id AS game, s.player_id AS player,
        MIN(s.place) AS place, COUNT(*) FILTER (WHERE s.place = 0) AS firsts,
        AVG(s.returns) AS got
    FROM json_each(:ranges) r
    JOIN games g ON g.id BETWEEN json_extract(r.value, '$[1]') AND json_extract(r.value, '$[2]')
        AND g.voided = 0
    JOIN game_seats s ON s.game_id = g.id
    GROUP BY g.id, s.player_id
), placed AS (
    SELECT match, player, place, got, SUM(firsts) OVER (PARTITION BY game) AS firsts FROM seated
)
SELECT placed.match, p.kind, p.name, COUNT(*), SUM(place = 0 AND firsts = 1),
    SUM(place = 0 AND firsts > 1), SUM(place > 0), AVG(got)
FROM placed JOIN players p ON p.id = placed.player
GROUP BY placed.match, placed.player
""")


@dataclass(frozen=True, slots=True)
class MatchStanding:
    """What a player has of the games of a match.

    games        games that it sat in
    wins         games in which it alone was first
    draws        games in which it was first together with another seat
    losses       games in which another was before it
    mean_return  of a game, the mean over its seats
    """

    games: int
    wins: int
    draws: int
    losses: int
    mean_return: float


class MatchStandings:
    """A cache of the standings of finished matches. Several threads may use it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[float, tuple[MatchStanding, ...]]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, league: League, matches: Sequence[Match]) -> dict[int, tuple[MatchStanding, ...]]:
        """Number of each match -> a standing for each of its players; () before any game."""
        found = {match.id: known for match in matches if (known := self._known(match)) is not None}
        missing = [match for match in matches if match.id not in found]
        for match, standings in zip(missing, _read(league, missing), strict=True):
            found[match.id] = standings
            self._keep(match, standings)
        return found

    def _known(self, match: Match) -> tuple[MatchStanding, ...] | None:
        with self._lock:
            ended, standings = self._kept.get(match.id, (None, None))
            if standings is None or ended != match.finished_at:
                return None
            self._kept.move_to_end(match.id)
            return standings

    def _keep(self, match: Match, standings: tuple[MatchStanding, ...]) -> None:
        if match.finished_at is None:
            return
        with self._lock:
            self._kept[match.id] = match.finished_at, standings
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)


def _read(league: League, matches: Sequence[Match]) -> list[tuple[MatchStanding, ...]]:
    if not matches:
        return []
    ranges = [[match.id, *keys_of_match(match.id)] for match in matches]
    with league.read() as connection:
        rows = connection.execute(_SUMS, {"ranges": json.dumps(ranges)}).all()
    sums: dict[tuple[int, PlayerRef], MatchStanding] = {}
    for number, kind, name, *values in rows:
        sums[number, to_player(kind, name)] = MatchStanding(*values)
    return [
        tuple(sums[match.id, player] for player in match.players)
        if all((match.id, player) in sums for player in match.players)
        else ()
        for match in matches
    ]
