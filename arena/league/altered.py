"""The error of rows that were altered after they were committed, where a command would go on with
them.
"""

from arena.league.chain import chain_of_match
from arena.league.chain_check import check_chain
from arena.league.database import League
from arena.league.matches import Match
from pbt.errors import PbtError

NAMED = 5


class AlteredError(PbtError):
    """Stored rows are not those that were committed."""


def refuse_altered(league: League, match: Match) -> None:
    """Raises: AlteredError that names the rows of a match that differ from its chain."""
    differences = check_chain(league, chain_of_match(match.id)).differences
    if not differences:
        return
    lines = [difference.text for difference in differences[:NAMED]]
    more = f"\nand {len(differences) - NAMED} more" if len(differences) > NAMED else ""
    raise AlteredError(
        f"match {match.id}: its stored rows were altered after they were committed; `arena verify "
        f"match:{match.id}` says everything, and a new match plays the games anew\n"
        + "\n".join(lines)
        + more
    )
