"""Rating tables, which are fitted from all games that count whenever they are requested.

`arena.league.results` says which games count.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from arena.league.database import League
from arena.league.matches import find_match
from arena.league.objectives import objective_in_force, objective_of_game
from arena.league.rating_models import ANCHOR, Rated, RatedPlayer, rate
from arena.league.results import Results, game_results, match_results, population_results
from arena.league.stored_snapshots import StoredSnapshot, named_snapshots
from arena.stats.bradley_terry import BEST_MIN_GAMES
from arena.stats.margin_units import MarginResult
from arena.stats.score import Tally
from arena.stats.win_matrix import WinMatrix, WinRow
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of a rating table.

    player    the player
    rating    in the unit of its table, where `random` is 0; None without a rating
    low       lower end of the rating's 95 % interval; None without a rating, and where games give
              none, because no chain of wins or draws leads from the player to `random`
    high      upper end of the rating's 95 % interval; None where no such chain leads back
    results   by opponent, one comparison per opponent and game
    total     the results against all opponents together
    snapshot  the player's snapshot, None for a scripted player
    """

    player: PlayerRef
    rating: float | None
    low: float | None
    high: float | None
    results: Mapping[PlayerRef, Tally]
    total: Tally
    snapshot: StoredSnapshot | None

    @property
    def against_random(self) -> Tally | None:
        return self.results.get(ANCHOR)

    @property
    def role(self) -> str | None:
        """The role that the player plays; None where it plays any."""
        return None if self.snapshot is None else self.snapshot.record.role

    @property
    def label(self) -> str:
        """A name by which the player can be found: `random`, or `demo/m2@1.21M`."""
        return self.player.name if self.snapshot is None else self.snapshot.label


@dataclass(frozen=True, slots=True)
class RatingTable:
    """A rating table.

    rows       best first, players without a rating last; empty where returns are what counts
    matrix     the results behind the ratings, as games won, drawn and lost
    margins    the same as margins, in games of two seats
    objective  what the ratings count; at tables of more than two seats, places decide where
               margins would
    rated      the ratings with their model
    """

    rows: Sequence[Standing]
    matrix: WinMatrix[PlayerRef]
    margins: Sequence[MarginResult[PlayerRef]]
    objective: ObjectiveKind
    rated: Rated


def standings(league: League, population: str) -> list[Standing]:
    """The rows of `population_table`."""
    return list(population_table(league, population).rows)


def population_table(league: League, population: str, *, everyone: bool = False) -> RatingTable:
    """The table of a population: its evaluation games, and matches among its snapshots and others.

    everyone  whether to rate all players of the same game with the same options instead
    Raises: PlayerError.
    """
    results = population_results(league, population, everyone=everyone)
    return _table(league, results, objective_in_force(league, population), population)


def game_table(league: League, env_name: str, env_options: Mapping[str, Any]) -> RatingTable:
    """The table of all players of a game with these options, by the objective of the newest one."""
    objective = objective_of_game(league, env_name, env_options)
    return _table(league, game_results(league, env_name, env_options), objective)


def match_table(league: League, match_ids: Sequence[int]) -> RatingTable:
    """The table of these matches alone, by the objective of the first."""
    first = find_match(league, match_ids[0]) if match_ids else None
    objective = "win" if first is None else first.objective
    return _table(league, match_results(league, match_ids), objective)


_PLACES = "margins decide between two players at a table of two seats; here places count, in Elo"


def _table(
    league: League, results: Results, objective: ObjectiveKind, population: str | None = None
) -> RatingTable:
    ids = [player.name for player in results.matrix.players if player.kind == "snapshot"]
    kept = named_snapshots(league, ids, population)
    met = dict(zip(results.matrix.players, results.matrix.rows(), strict=True))
    places = bool(results.rankings) and objective == "margin"
    if places:
        objective = "win"
    rated = rate(results, objective)
    if places:
        rated = replace(rated, notes=(*rated.notes, _PLACES))
    rows = sorted(
        (_standing(one, met[one.player], kept) for one in rated.players), key=_rating_order
    )
    return RatingTable(rows, results.matrix, results.margins, objective, rated)


def _rating_order(row: Standing) -> tuple[float, str]:
    return math.inf if row.rating is None else -row.rating, str(row.player)


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
            and role in (None, row.role)
        ),
        None,
    )


def by_role(table: Sequence[Standing]) -> dict[str | None, list[Standing]]:
    """Role -> its rows in the order given, sorted by role; with one role, all rows under None.

    Players that play any role, such as `random`, stand in the rows of each.
    """
    roles: Sequence[str | None] = sorted({row.role for row in table if row.role is not None})
    if len(roles) < 2:
        return {None: list(table)}
    return {role: [row for row in table if row.role in (None, role)] for role in roles}


def best_of_roles(table: Sequence[Standing]) -> dict[str, Standing]:
    """Role -> its best player, of the roles in the table that have one, sorted by name."""
    roles = sorted({row.role for row in table if row.role is not None})
    found = {role: best_standing(table, role) for role in roles}
    return {role: row for role, row in found.items() if row is not None}


def ranks_of(table: Sequence[Standing], role: str | None = None) -> list[int | None]:
    """1, 2, ... over the rows that are not provisional. The anchor is a reference, so unranked.

    role  the role of the table, where there are several: players of any role are references, too
    """
    counter = count(1)
    return [
        next(counter) if is_ranked(row, role) and not is_provisional(row) else None for row in table
    ]


def is_ranked(row: Standing, role: str | None) -> bool:
    """Whether the player gets a rank as soon as it has enough games. role: as `ranks_of`."""
    return row.player != ANCHOR and role in (None, row.role)


def _standing(
    one: RatedPlayer, results: WinRow[PlayerRef], kept: Mapping[str, StoredSnapshot]
) -> Standing:
    player = one.player
    snapshot = kept.get(player.name) if player.kind == "snapshot" else None
    return Standing(player, one.rating, one.low, one.high, results, results.total, snapshot)
