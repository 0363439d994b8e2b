"""What a rating table says of players against each other where margins count."""

from collections.abc import Mapping

from arena.cli.best_text import number_text
from arena.league.ratings import RatingTable
from arena.stats.margin_cycles import PairMargin, pair_margins
from pbt.records import PlayerRef

Margins = Mapping[tuple[PlayerRef, PlayerRef], PairMargin[PlayerRef]]
"""By player and opponent, in both orders."""


def margins_of(table: RatingTable) -> Margins:
    """The mean margins of every two players that met; empty where the table counts no margins."""
    if table.objective != "margin":
        return {}
    pairs = pair_margins(table.margins)
    return {(one.a, one.b): one for pair in pairs for one in (pair, pair.turned())}


def mean_margin(table: RatingTable, player: PlayerRef) -> float | None:
    """The mean margin of a player over all its units; None without one."""
    own = [one for one in table.margins if player in (one.a, one.b)]
    units = sum(one.units for one in own)
    total = sum(one.total if player == one.a else -one.total for one in own)
    return total / units if units else None


def margin_text(margin: PairMargin[PlayerRef] | None) -> str:
    """`+1.2 [+0.4, +2]`, without an interval where margins never vary; "" without games."""
    if margin is None:
        return ""
    mean = number_text(margin.mean, "margin")
    if margin.low is None or margin.high is None:
        return mean
    return f"{mean} [{number_text(margin.low, 'margin')}, {number_text(margin.high, 'margin')}]"
