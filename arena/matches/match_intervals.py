"""The 95 % intervals of matches of two, for lists of matches: those that each match itself shows.

They are computed from all games of a match, so they are cached, and a list computes few at once.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena.league.database import League
from arena.league.match_standings import MatchStanding
from arena.league.matches import Match
from arena.matches.stored import stored_duel

MAX_KEPT = 4096
"""Most matches that are cached; the least recently requested is evicted first."""
PATIENCE_S = 0.5
"""A list spends this time on matches that no request asked for before, and at least one of them."""
MOST_GAMES = 20_000
"""A match with more games has its interval on its own page only."""


@dataclass(frozen=True, slots=True)
class MatchInterval:
    """The 95 % interval of the first player's score, or margin where margins decide.

    low   lower end; None where a sequence has no bound
    high  upper end; None as `low`
    """

    low: float | None
    high: float | None


class MatchIntervals:
    """A cache of the intervals of matches. Several threads may use it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int], MatchInterval | None] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self,
        league: League,
        matches: Sequence[Match],
        standings: Mapping[int, Sequence[MatchStanding]],
    ) -> dict[int, MatchInterval | None]:
        """Number of each match -> its interval; None where it has none, and until a later request.

        standings  of the matches; an interval holds for so many games
        """
        began, found, computed = time.monotonic(), dict[int, MatchInterval | None](), False
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
            found[match.id] = None
            late = computed and time.monotonic() - began > PATIENCE_S
            if not has_interval(match) or not 0 < games <= MOST_GAMES or late:
                continue
            computed = True
            found[match.id] = self._keep(key, interval_of(league, match))
        return found

    def _keep(self, key: tuple[int, int], interval: MatchInterval | None) -> MatchInterval | None:
        with self._lock:
            self._kept[key] = interval
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return interval


def has_interval(match: Match) -> bool:
    """Whether wins or margins decide between two players."""
    return len(match.players) == 2 and match.objective != "return"


def interval_of(league: League, match: Match) -> MatchInterval | None:
    """The interval of the games so far; None where places or returns count, or before a game."""
    duel = stored_duel(league, match)
    if duel is None:
        return None
    decided = duel.margin or duel.statistics
    return MatchInterval(decided.low, decided.high)
