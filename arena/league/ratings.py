"""Rating tables, which are fitted from all games that count whenever they are requested.

`arena.league.results` says which games count.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.league.database import League
from arena.league.results import Results, game_results, match_results, population_results
from arena.league.stored_snapshots import StoredSnapshot, named_snapshots
from arena.stats.bradley_terry import BEST_MIN_GAMES, Rating
from arena.stats.plackett_luce import fit_rankings
from arena.stats.score import Tally
from arena.stats.win_matrix import WinMatrix, WinRow, fit_matrix
from pbt.records import PlayerRef

ANCHOR = PlayerRef("scripted", "random")


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of a rating table.

    player    the player
    elo       its rating, where `random` is 0; None without a rating
    low       lower end of the rating's 95 % interval, None as `elo`
    high      upper end of the rating's 95 % interval, None as `elo`
    results   by opponent, one comparison per opponent and game
    total     the results against all opponents together
    snapshot  the player's snapshot, None for a scripted player
    """

    player: PlayerRef
    elo: float | None
    low: float | None
    high: float | None
    results: Mapping[PlayerRef, Tally]
    total: Tally
    snapshot: StoredSnapshot | None

    @property
    def against_random(self) -> Tally | None:
        return self.results.get(ANCHOR)

    @property
    def label(self) -> str:
        """A name by which the player can be found: `random`, or `demo/m2@1.21M`."""
        return self.player.name if self.snapshot is None else self.snapshot.label


@dataclass(frozen=True, slots=True)
class RatingTable:
    """A rating table.

    rows    best first, players without a rating last
    matrix  the results behind the ratings
    """

    rows: Sequence[Standing]
    matrix: WinMatrix[PlayerRef]


def standings(league: League, population: str) -> list[Standing]:
    """The rows of `population_table`."""
    return list(population_table(league, population).rows)


def population_table(league: League, population: str, *, everyone: bool = False) -> RatingTable:
    """The table of a population: its evaluation games, and matches among its snapshots and others.

    everyone  whether to rate all players of the same game with the same options instead
    Raises: PlayerError.
    """
    return _table(league, population_results(league, population, everyone=everyone), population)


def game_table(league: League, env_name: str, env_options: Mapping[str, Any]) -> RatingTable:
    """The table of all players of a game with these options."""
    return _table(league, game_results(league, env_name, env_options))


def match_table(league: League, match_ids: Sequence[int]) -> RatingTable:
    """The table of these matches alone."""
    return _table(league, match_results(league, match_ids))


def rate(results: Results) -> list[Rating[PlayerRef]]:
    """Ratings by Bradley-Terry, or by Plackett-Luce in games of more than two players.

    `random` is 0; where it never played, the mean is.
    """
    anchor = ANCHOR if ANCHOR in results.matrix.players else None
    return (
        fit_rankings(results.rankings, anchor)
        if results.rankings
        else fit_matrix(results.matrix, anchor)
    )


def _table(league: League, results: Results, population: str | None = None) -> RatingTable:
    ids = [player.name for player in results.matrix.players if player.kind == "snapshot"]
    kept = named_snapshots(league, ids, population)
    met = dict(zip(results.matrix.players, results.matrix.rows(), strict=True))
    rows = [_standing(rating, met[rating.player], kept) for rating in rate(results)]
    return RatingTable(rows, results.matrix)


def by_lower_bound(table: Sequence[Standing]) -> list[Standing]:
    """The rows by the lower ends of their intervals, highest first; those without a rating last."""
    return sorted(table, key=lambda row: (-row.low if row.low is not None else math.inf, row.label))


def is_provisional(row: Standing) -> bool:
    """Whether a player has too few games, or no rating, and so gets no rank."""
    return row.low is None or row.total.games < BEST_MIN_GAMES


def best_standing(table: Sequence[Standing], role: str | None = None) -> Standing | None:
    """`@best`: the first ranked player that is a snapshot with weights, None without one.

    role  only snapshots that play this role; None: any
    """
    ranked = (row for row in by_lower_bound(table) if not is_provisional(row))
    return next(
        (
            row
            for row in ranked
            if row.snapshot is not None
            and not row.snapshot.weights_removed
            and role in (None, row.snapshot.record.role)
        ),
        None,
    )


def best_of_roles(table: Sequence[Standing]) -> dict[str, Standing]:
    """Role -> its best player, of the roles in the table that have one, sorted by name."""
    roles = sorted({row.snapshot.record.role for row in table if row.snapshot is not None})
    found = {role: best_standing(table, role) for role in roles}
    return {role: row for role, row in found.items() if row is not None}


def _standing(
    rating: Rating[PlayerRef], results: WinRow[PlayerRef], kept: Mapping[str, StoredSnapshot]
) -> Standing:
    player = rating.player
    snapshot = kept.get(player.name) if player.kind == "snapshot" else None
    return Standing(player, rating.elo, rating.low, rating.high, results, results.total, snapshot)
