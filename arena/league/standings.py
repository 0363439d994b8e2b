"""The rating table, fitted anew from all evaluation games whenever asked for. Training, greedy,
voided and superseded games never enter.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.league.database import League
from arena.league.queries import StoredSnapshot, named_snapshots
from arena.league.results import Results, game_results, match_results, population_results
from arena.stats.bradley_terry import BEST_MIN_GAMES, Rating
from arena.stats.plackett_luce import fit_rankings
from arena.stats.score import Tally
from arena.stats.win_matrix import WinMatrix, WinRow, fit_matrix
from pbt.records import PlayerRef

ANCHOR = PlayerRef("scripted", "random")


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of the table.

    elo, low, high  rating and its 95 % interval, `random` = 0; None without a rating
    results         against each opponent met, by one comparison per opponent and game;  total:
                    against all of them
    snapshot        None for a scripted player
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
        """A name the player can be called by: `random`, or `demo/m2@1.21M`."""
        return self.player.name if self.snapshot is None else self.snapshot.label


@dataclass(frozen=True, slots=True)
class RatingTable:
    """rows: best first, unrated players last;  matrix: the results behind them"""

    rows: Sequence[Standing]
    matrix: WinMatrix[PlayerRef]


def standings(league: League, population: str) -> list[Standing]:
    """The rows of `population_table`."""
    return list(population_table(league, population).rows)


def population_table(league: League, population: str, *, everyone: bool = False) -> RatingTable:
    """Of its evaluation games, and matches among its snapshots and scripted players.

    everyone: of every population and match of the same game with the same options. Raises:
    PlayerError.
    """
    return _table(league, population_results(league, population, everyone=everyone), population)


def game_table(league: League, env_name: str, env_options: Mapping[str, Any]) -> RatingTable:
    """Everybody who plays this game with these options."""
    return _table(league, game_results(league, env_name, env_options))


def match_table(league: League, match_ids: Sequence[int]) -> RatingTable:
    """By the games of these matches alone."""
    return _table(league, match_results(league, match_ids))


def rate(results: Results) -> list[Rating[PlayerRef]]:
    """Bradley & Terry's ratings, where more than two sit at a table Plackett & Luce's; `random`
    = 0, or, where it never played, the mean.
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
    """Most surely strong first; players without a rating last."""
    return sorted(table, key=lambda row: (-row.low if row.low is not None else math.inf, row.label))


def is_provisional(row: Standing) -> bool:
    """Whether too little is known of a player to give it a rank."""
    return row.low is None or row.total.games < BEST_MIN_GAMES


def best_standing(table: Sequence[Standing]) -> Standing | None:
    """`@best`: the first of the ranked that is a snapshot with weights; None when there is none."""
    ranked = (row for row in by_lower_bound(table) if not is_provisional(row))
    return next(
        (row for row in ranked if row.snapshot is not None and not row.snapshot.weights_removed),
        None,
    )


def _standing(
    rating: Rating[PlayerRef], results: WinRow[PlayerRef], kept: Mapping[str, StoredSnapshot]
) -> Standing:
    player = rating.player
    snapshot = kept.get(player.name) if player.kind == "snapshot" else None
    return Standing(player, rating.elo, rating.low, rating.high, results, results.total, snapshot)
