"""`@best`: the snapshot of each role that a population's evaluation games show to be best."""

from arena.league.database import League
from arena.league.ratings import best_standing, standings
from arena.league.returns import best_by_return, return_standings
from arena.league.stored_snapshots import StoredSnapshot
from arena.league.summaries import roles_of


def best_of_each_role(league: League, population: str) -> dict[str, StoredSnapshot]:
    """Role -> its best snapshot that has its weights and enough games, of the roles that have one.

    It is the highest lower end of the ratings, or of the mean returns where those are what counts.
    Raises: PlayerError.
    """
    table = standings(league, population)
    returns = [] if table else return_standings(league, population)
    best = {}
    for role in roles_of(league, population):
        row = best_standing(table, role) or best_by_return(returns, role)
        if row is not None and row.snapshot is not None:
            best[role] = row.snapshot
    return best


def most_games(league: League, population: str, role: str | None = None) -> tuple[int, str]:
    """(evaluation games, label) of the snapshot of a role with most of them; (0, "") without one.

    role  None: of any
    """
    counts = [
        (row.total.games, row.snapshot) for row in standings(league, population) if row.snapshot
    ] or [(row.games, row.snapshot) for row in return_standings(league, population)]
    return max(
        ((games, one.label) for games, one in counts if role in (None, one.record.role)),
        default=(0, ""),
    )
