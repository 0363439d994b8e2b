"""The rating of the best snapshot of each role of a population, in the unit of its objective."""

from dataclasses import dataclass

from arena.league.database import League
from arena.league.ratings import best_of_roles, population_table
from arena.league.returns import best_by_return, return_table
from pbt.objective import ObjectiveKind


@dataclass(frozen=True, slots=True)
class BestRating:
    """The best snapshot of a role.

    role       that it plays
    objective  what the rating counts: Elo of games won, a margin, or a mean return
    rating     of the snapshot; where `random` is rated, it has 0
    low        lower end of its 95 % interval, None where games give none
    """

    role: str
    objective: ObjectiveKind
    rating: float
    low: float | None


def best_ratings(league: League, population: str) -> list[BestRating]:
    """The best of each role that has one. Raises: PlayerError."""
    table = population_table(league, population)
    if table.rows:
        best = best_of_roles(table.rows).items()
        return [
            BestRating(role, table.objective, row.rating, row.low)
            for role, row in best
            if row.rating is not None
        ]
    rows = return_table(league, population).rows
    found = {role: best_by_return(rows, role) for role in sorted({row.role for row in rows})}
    return [
        BestRating(role, "return", row.mean, row.low)
        for role, row in found.items()
        if row is not None
    ]
