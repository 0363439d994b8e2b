"""Circles of players that beat each other, in what their rating table counts."""

from dataclasses import dataclass

from arena.league.ratings import RatingTable
from arena.stats.cycles import Cycle, CyclicShare, cyclic_share, significant_cycles
from arena.stats.margin_cycles import margin_cycles, pair_margins
from pbt.records import PlayerRef


@dataclass(frozen=True, slots=True)
class Circles:
    """What a table cannot say.

    cycles  every three players of which each beats the next, the most certain first
    share   how much of the results no rating explains
    """

    cycles: list[Cycle[PlayerRef]]
    share: CyclicShare


def circles_of(table: RatingTable) -> Circles:
    """The circles of a table: in margins where it counts margins, else in games won."""
    if table.objective != "margin":
        return Circles(significant_cycles(table.matrix), cyclic_share(table.matrix))
    cycles = margin_cycles(table.matrix.players, pair_margins(table.margins))
    facts = table.rated.facts
    misfit = facts["misfit"]
    share = CyclicShare(1 - facts["explained"], 1.0 if misfit is None else misfit["p"])
    return Circles(cycles, share)
