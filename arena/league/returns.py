"""Games of one seat: nobody wins there, so snapshots are compared by the returns of their
evaluation games.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import text

from arena.league.database import League
from arena.league.populations import find_population
from arena.league.queries import StoredSnapshot, snapshots_of
from arena.stats.bradley_terry import BEST_MIN_GAMES
from arena.stats.score import mean_interval

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
    """mean: of the unshaped return;  low, high: its 95 % interval, Student's t over games; None
    where all returns are equal.
    """

    snapshot: StoredSnapshot
    games: int
    mean: float
    low: float | None
    high: float | None

    @property
    def label(self) -> str:
        """A name the player can be called by: `doom/m0@1.21M`."""
        return self.snapshot.label


def return_standings(league: League, population: str) -> list[ReturnStanding]:
    """Most surely good first; [] for games of several seats. Raises: PlayerError."""
    returns: dict[str, list[float]] = defaultdict(list)
    with league.read() as connection:
        for name, value in connection.execute(
            _RETURNS, {"population_id": find_population(connection, population).id}
        ):
            returns[name].append(value)
        found = snapshots_of(connection, list(returns))
    # Of equal content in several populations, the one asked for.
    kept = {
        snapshot.record.snapshot_id: snapshot
        for snapshot in sorted(found, key=lambda snapshot: snapshot.population == population)
    }
    table = [_standing(kept[name], values) for name, values in returns.items() if name in kept]
    return sorted(table, key=lambda row: (-_surely(row), row.label))


def best_by_return(
    table: Sequence[ReturnStanding], min_games: int = BEST_MIN_GAMES
) -> ReturnStanding | None:
    """The snapshot with the highest lower end among those with enough games and weights; None
    when there is none.
    """
    return next(
        (row for row in table if row.games >= min_games and not row.snapshot.weights_removed), None
    )


def _standing(snapshot: StoredSnapshot, values: Sequence[float]) -> ReturnStanding:
    low, high = mean_interval(values) or (None, None)
    return ReturnStanding(snapshot, len(values), float(np.mean(values)), low, high)


def _surely(row: ReturnStanding) -> float:
    """What it returns at least, as far as is known: a single game says nothing, many equal ones
    say all.
    """
    if row.low is not None:
        return row.low
    return row.mean if row.games >= BEST_MIN_GAMES else -math.inf
