"""The 95 % intervals of matches, for lists of matches, in the unit of what decides.

Those of a match of two are the ones that the match itself shows. At larger tables, of more than two
players, and where returns count, they are Student's over blocks of games that share a seed.

They are computed from all games of a match, so they are cached, and a list computes few at once.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena.league.database import League
from arena.league.match_standings import MatchStanding
from arena.league.matches import Match, stored_games
from arena.matches.stored import stored_duel
from arena.stats.seat_means import SeatValues, block_means, mean_of
from pbt.records import GameRecord, PlayerRef, is_voided

Blocks = Mapping[int, float]
"""Block of games -> what a player got there, in the mean."""
MAX_KEPT = 4096
"""Most matches that are cached; the least recently requested is evicted first."""
PATIENCE_S = 0.5
"""A list spends this time on matches that no request asked for before, and at least one of them."""
MOST_GAMES = 20_000
"""A match with more games has its interval on its own page only."""


@dataclass(frozen=True, slots=True)
class MatchInterval:
    """A 95 % interval.

    low   lower end; None where a sequence has no bound
    high  upper end; None as `low`
    """

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ListedIntervals:
    """What a list of matches shows of one; each is None where its games give none.

    first    of the first player's score, or margin where margins decide, against one other player
    players  of each player, where returns count or more than two play: of its mean return where
             returns or margins decide, else of the share of games in which it alone was first
    """

    first: MatchInterval | None = None
    players: tuple[MatchInterval | None, ...] = ()


NOTHING = ListedIntervals()


class MatchIntervals:
    """A cache of the intervals of matches. Several threads may use it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int], ListedIntervals] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self,
        league: League,
        matches: Sequence[Match],
        standings: Mapping[int, Sequence[MatchStanding]],
    ) -> dict[int, ListedIntervals]:
        """Number of each match -> its intervals; NOTHING where it has none, until a later request.

        standings  of the matches; an interval holds for so many games
        """
        began, found, computed = time.monotonic(), dict[int, ListedIntervals](), False
        for match in matches:
            games = standings[match.id][0].games if standings[match.id] else 0
            key = match.id, games
            with self._lock:
                known = key in self._kept
                if known:
                    self._kept.move_to_end(key)
                    found[match.id] = self._kept[key]
            if known:
                continue
            found[match.id] = NOTHING
            late = computed and time.monotonic() - began > PATIENCE_S
            if not 0 < games <= MOST_GAMES or late:
                continue
            computed = True
            found[match.id] = self._keep(key, intervals_of(league, match))
        return found

    def _keep(self, key: tuple[int, int], intervals: ListedIntervals) -> ListedIntervals:
        with self._lock:
            self._kept[key] = intervals
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return intervals


def intervals_of(league: League, match: Match) -> ListedIntervals:
    """The intervals of the games so far."""
    alone = match.objective == "return" or len(match.players) != 2
    if not alone and (duel := stored_duel(league, match)) is not None:
        decided = duel.margin or duel.statistics
        return ListedIntervals(MatchInterval(decided.low, decided.high))
    games = [one for one in stored_games(league, match) if not is_voided(one.end_reason)]
    if not games:
        return NOTHING
    share, blocks = match.objective == "win", block_means([_got(match, game) for game in games])
    own = [blocks.get(player, {}) for player in match.players]
    if alone:
        return ListedIntervals(None, tuple(_of(one, share=share) for one in own))
    return ListedIntervals(_of(_first_of_two(match, *own), share=share))


def _first_of_two(match: Match, own: Mapping[int, float], other: Mapping[int, float]) -> Blocks:
    """Block -> the score of the first of two, or its margin where margins decide."""
    if match.objective == "win":
        return own
    return {block: (own[block] - other[block]) / 2 for block in own.keys() & other.keys()}


def _got(match: Match, game: GameRecord) -> SeatValues[PlayerRef]:
    """What each player got of a game, in what decides the match."""
    block = game.number if game.pair is None else game.pair
    players = tuple(seat.player for seat in game.seats)
    if match.objective != "win":
        return SeatValues(players, tuple(seat.returns for seat in game.seats), block)
    first = [seat.player for seat in game.seats if seat.place == 0]
    shared = 0.5 if len(match.players) == 2 else 0.0
    points = {
        player: (shared if first[1:] else 1.0) if player in first else 0.0 for player in players
    }
    return SeatValues(tuple(points), tuple(points.values()), block)


def _of(blocks: Blocks, *, share: bool) -> MatchInterval | None:
    """The interval of a mean over blocks; that of a share of games lies between 0 and 1."""
    found = mean_of(blocks) if blocks else None
    if found is None or found.low is None or found.high is None:
        return None
    if share:
        return MatchInterval(max(0.0, found.low), min(1.0, found.high))
    return MatchInterval(found.low, found.high)
