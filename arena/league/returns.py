"""Standings in games of one seat, by the returns of evaluation games.

Such a game has no winner, so its snapshots have no ratings.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import text

from arena.league.database import League
from arena.league.populations import find_population
from arena.league.stored_snapshots import StoredSnapshot, snapshots_of
from arena.stats.bradley_terry import BEST_MIN_GAMES
from arena.stats.intervals import mean_interval

_RETURNS = text("""
SELECT p.name, s.returns FROM games g INDEXED BY ix_games_evaluation
JOIN incarnations i ON i.id = g.incarnation_id
JOIN game_seats s ON s.game_id = g.id JOIN players p ON p.id = s.player_id
WHERE g.kind = 1 AND g.greedy = 0 AND g.voided = 0 AND g.superseded = 0
  AND i.population_id = :population_id AND p.kind = 1
  AND NOT EXISTS (SELECT 1 FROM game_seats o WHERE o.game_id = g.id AND o.seat <> s.seat)
""")


@dataclass(frozen=True, slots=True)
class ReturnStanding:
    """The returns of one snapshot. The interval is Student's t over games.

    snapshot  the snapshot
    games     its evaluation games
    mean      mean of the unshaped return
    low       lower end of the mean's 95 % interval, None where all returns are equal
    high      upper end of the mean's 95 % interval, None where all returns are equal
    """

    snapshot: StoredSnapshot
    games: int
    mean: float
    low: float | None
    high: float | None

    @property
    def label(self) -> str:
        """A name by which the player can be found: `doom/m0@1.21M`."""
        return self.snapshot.label


def return_standings(league: League, population: str) -> list[ReturnStanding]:
    """The standings, highest lower end first; [] in games of several seats. Raises: PlayerError."""
    returns: dict[str, list[float]] = defaultdict(list)
    with league.read() as connection:
        for name, value in connection.execute(
            _RETURNS, {"population_id": find_population(connection, population).id}
        ):
            returns[name].append(value)
        snapshots = snapshots_of(connection, list(returns))
    # Equal weights may stand in several populations; that of the requested population is taken.
    kept = {
        snapshot.record.snapshot_id: snapshot
        for snapshot in sorted(snapshots, key=lambda snapshot: snapshot.population == population)
    }
    table = [_standing(kept[name], values) for name, values in returns.items() if name in kept]
    return sorted(table, key=lambda row: (-_lower_end(row), row.label))


def best_by_return(
    table: Sequence[ReturnStanding], min_games: int = BEST_MIN_GAMES
) -> ReturnStanding | None:
    """The first snapshot of a table that has enough games and its weights, None without one."""
    return next(
        (row for row in table if row.games >= min_games and not row.snapshot.weights_removed), None
    )


def _standing(snapshot: StoredSnapshot, values: Sequence[float]) -> ReturnStanding:
    low, high = mean_interval(values) or (None, None)
    return ReturnStanding(snapshot, len(values), float(np.mean(values)), low, high)


def _lower_end(row: ReturnStanding) -> float:
    """The lower end of the mean's interval.

    Where all returns are equal there is none: many equal games give the mean, a few give -inf.
    """
    if row.low is not None:
        return row.low
    return row.mean if row.games >= BEST_MIN_GAMES else -math.inf
