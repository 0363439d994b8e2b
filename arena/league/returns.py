"""Standings by the returns of evaluation games, where returns are what counts.

In games of one seat there is no opponent. In games of several seats a player is measured with
copies of itself in all seats (self-play) and beside other players (cross-play).
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from sqlalchemy import text

from arena.league.database import League
from arena.league.populations import find_population
from arena.league.stored_snapshots import StoredSnapshot, snapshots_of
from arena.stats.bradley_terry import BEST_MIN_GAMES
from arena.stats.intervals import mean_interval

BEST_FEW_GAMES = 10
"""So many games are enough for `@best` where the interval lies above those of all with more."""

# A player in several seats of a game counts with the mean over them.
_RETURNS = text("""
SELECT g.id, p.name, AVG(s.returns) AS returns,
    EXISTS (SELECT 1 FROM game_seats o WHERE o.game_id = g.id AND o.player_id <> s.player_id)
        AS crossed
FROM games g INDEXED BY ix_games_evaluation
JOIN incarnations i ON i.id = g.incarnation_id
JOIN game_seats s ON s.game_id = g.id JOIN players p ON p.id = s.player_id
WHERE g.kind = 1 AND g.greedy = 0 AND g.voided = 0 AND g.superseded = 0
  AND i.population_id = :population_id AND p.kind = 1
GROUP BY g.id, s.player_id
""")


@dataclass(frozen=True, slots=True)
class ReturnStanding:
    """The returns of one snapshot. Intervals are Student's t over games.

    All snapshots are ranked by one kind of game: by those in all seats where every snapshot with
    BEST_MIN_GAMES games has as many of them, else by those beside other players.

    snapshot    the snapshot
    games       the evaluation games that it is ranked by
    mean        mean of their unshaped return
    low         lower end of the mean's 95 % interval, None where all returns are equal
    high        upper end of the mean's 95 % interval, None where all returns are equal
    cross_play  (games, mean return) beside other players, None without such games
    left_out    its games in all seats, where it is ranked by those beside others
    """

    snapshot: StoredSnapshot
    games: int
    mean: float
    low: float | None
    high: float | None
    cross_play: tuple[int, float] | None = None
    left_out: int = 0

    @property
    def gap(self) -> float | None:
        """How much more it returns with itself than beside others; None without either."""
        if self.cross_play is None or self.cross_play == (self.games, self.mean):
            return None
        return self.mean - self.cross_play[1]

    @property
    def role(self) -> str:
        """The role that the player plays."""
        return self.snapshot.record.role

    @property
    def label(self) -> str:
        """A name by which the player can be found: `doom/m0@1.21M`."""
        return self.snapshot.label


ByGame = Mapping[int, float]
"""Key of a game -> the mean return of a player's seats in it."""


@dataclass(frozen=True, slots=True)
class ReturnTable:
    """The standings with the games behind them.

    rows   the standings, highest lower end first
    games  by id of a snapshot, its games of the kind that ranks
    """

    rows: list[ReturnStanding]
    games: Mapping[str, ByGame]


def return_standings(league: League, population: str) -> list[ReturnStanding]:
    """The rows of `return_table`."""
    return return_table(league, population).rows


def return_table(league: League, population: str) -> ReturnTable:
    """The standings of a population. Raises: PlayerError."""
    alone: dict[str, dict[int, float]] = defaultdict(dict)
    crossed: dict[str, dict[int, float]] = defaultdict(dict)
    with league.read() as connection:
        for game, name, value, others in connection.execute(
            _RETURNS, {"population_id": find_population(connection, population).id}
        ):
            (crossed if others else alone)[name][game] = value
        names = list({**alone, **crossed})
        snapshots = snapshots_of(connection, names)
    # Equal weights may stand in several populations; that of the requested population is taken.
    kept = {
        snapshot.record.snapshot_id: snapshot
        for snapshot in sorted(snapshots, key=lambda snapshot: snapshot.population == population)
    }
    by_self = ranked_by_self_play([(len(alone[name]), len(crossed[name])) for name in names])
    ranked = alone if by_self else crossed
    table = [
        _standing(
            kept[name],
            list(alone[name].values()),
            list(crossed[name].values()),
            by_self=by_self,
        )
        for name in names
        if name in kept and ranked[name]
    ]
    return ReturnTable(
        sorted(table, key=lambda row: (-_lower_end(row), row.label)),
        {name: games for name, games in ranked.items() if games},
    )


def return_candidates(
    table: Sequence[ReturnStanding], role: str | None = None
) -> list[ReturnStanding]:
    """The snapshots of a table that may be the best of their role, in its order.

    They have their weights, and BEST_MIN_GAMES games; or BEST_FEW_GAMES, where their interval lies
    above the intervals of all that have as many as that. Else a short training would name a
    snapshot that every later one surely beats, because only the early one has its games.

    role  only snapshots that play this role; None: any
    """
    rows = [row for row in table if not row.snapshot.weights_removed and role in (None, row.role)]
    highest: dict[str, float] = {}
    for row in rows:
        if row.games >= BEST_MIN_GAMES:
            end = row.mean if row.high is None else row.high
            highest[row.role] = max(end, highest.get(row.role, -math.inf))
    return [
        row
        for row in rows
        if row.games >= BEST_MIN_GAMES
        or (
            row.games >= BEST_FEW_GAMES
            and row.low is not None
            and row.low > highest.get(row.role, math.inf)
        )
    ]


def best_by_return(
    table: Sequence[ReturnStanding], role: str | None = None
) -> ReturnStanding | None:
    """The first of `return_candidates`, None without one."""
    return next(iter(return_candidates(table, role)), None)


def return_ranks(table: Sequence[ReturnStanding]) -> list[int | None]:
    """1, 2, ... within each role, over the rows with enough games."""
    counters: defaultdict[str, count[int]] = defaultdict(lambda: count(1))
    few = {row.label for row in return_candidates(table) if row.games < BEST_MIN_GAMES}
    return [
        next(counters[row.role]) if row.games >= BEST_MIN_GAMES or row.label in few else None
        for row in table
    ]


def ranked_by_self_play(played: Sequence[tuple[int, int]]) -> bool:
    """Whether snapshots are ranked by their games in all seats.

    The two kinds of game differ in what they return, so one table never mixes them.

    played  (games in all seats, games beside others) of each
    """
    enough = [alone for alone, crossed in played if max(alone, crossed) >= BEST_MIN_GAMES]
    if enough:
        return min(enough) >= BEST_MIN_GAMES
    return not any(crossed for _, crossed in played)


def _standing(
    snapshot: StoredSnapshot, alone: Sequence[float], crossed: Sequence[float], *, by_self: bool
) -> ReturnStanding:
    ranked = alone if by_self else crossed
    low, high = mean_interval(ranked) or (None, None)
    beside = (len(crossed), float(np.mean(crossed))) if crossed else None
    return ReturnStanding(
        snapshot,
        len(ranked),
        float(np.mean(ranked)),
        low,
        high,
        beside,
        0 if by_self else len(alone),
    )


def _lower_end(row: ReturnStanding) -> float:
    """The lower end of the mean's interval.

    Where all returns are equal there is none: many equal games give the mean, a few give -inf.
    """
    if row.low is not None:
        return row.low
    return row.mean if row.games >= BEST_MIN_GAMES else -math.inf
