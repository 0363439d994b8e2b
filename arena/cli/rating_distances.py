"""How far the players of a rating table are from its best one and from one of middle strength.

Players that beat `random` always are all uncertain by it, in common; among each other they are not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.league.rating_models import ANCHOR, RatedPlayer
from arena.league.ratings import RatingTable, Standing, is_provisional
from pbt.records import PlayerRef


@dataclass(frozen=True, slots=True)
class Distances:
    """The differences of ratings to one player.

    anchor  label of that player
    player  the player itself
    above   by player, how far it is above the anchor, with the interval of the difference
    """

    anchor: str
    player: PlayerRef
    above: Mapping[PlayerRef, RatedPlayer]

    def of(self, row: Standing) -> RatedPlayer | None:
        """The difference of one player; None for the anchor itself and without a rating."""
        return None if row.player == self.player else self.above.get(row.player)

    def report(self, row: Standing) -> dict[str, Any] | None:
        """The same as plain values, with the anchor's name."""
        found = self.of(row)
        if found is None:
            return None
        return {
            "anchor": self.anchor,
            "value": found.rating,
            "low": found.low,
            "high": found.high,
        }


def to_best(table: RatingTable, rows: Sequence[Standing]) -> Distances | None:
    """The distances to the player with the highest rating of the ranked rows."""
    ranked = _ranked(rows)
    return _distances(table, ranked[0]) if ranked else None


def to_middle(table: RatingTable, rows: Sequence[Standing]) -> Distances | None:
    """The distances to the player of median rating, the lower one of two."""
    ranked = _ranked(rows)
    return _distances(table, ranked[len(ranked) // 2]) if ranked else None


def distance_lines(table: RatingTable, rows: Sequence[Standing]) -> list[str]:
    """Which players the columns `to best` and `to middle` measure from; nothing without them."""
    ranked = _ranked(rows)
    if table.rated.above is None or not ranked:
        return []
    best, middle = ranked[0].label, ranked[len(ranked) // 2].label
    return [f"to best: above {best}; to middle: above {middle}, of median rating."]


def _ranked(rows: Sequence[Standing]) -> list[Standing]:
    """The rows that have a rank, best rating first."""
    own = [row for row in rows if row.player != ANCHOR and not is_provisional(row)]
    return sorted(own, key=lambda row: (-(row.rating or 0.0), row.label))


def _distances(table: RatingTable, row: Standing) -> Distances | None:
    above = table.rated.above
    return None if above is None else Distances(row.label, row.player, above(row.player))
