"""The strengths of a population's snapshots, read from the league's ratings or returns."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import stdtrit

from arena.assessment.answer import AnchorScore, BestPlayer
from arena.assessment.records import RatedSnapshot, RoleHistory, StrengthHistory
from arena.league.best_of_many import BestOfMany, best_of_many, best_return_of_many
from arena.league.database import League
from arena.league.rating_models import ANCHOR
from arena.league.ratings import RatingTable, Standing, best_standing, population_table
from arena.league.returns import ReturnStanding, ReturnTable, best_by_return, return_table
from arena.league.summaries import roles_of
from arena.stats.bradley_terry import NORMAL_975
from arena.stats.intervals import jeffreys_interval
from arena.stats.score import Tally, effective_games

SMALL_ELO = 25.0
"""A change of strength that does not matter: a score of 53.6 %."""
SMALL_SHARE = 0.1
"""The same where margins or returns count: this share of a game's standard deviation."""


def read_strengths(league: League, population: str) -> StrengthHistory:
    """The strengths by role, from all games that count. Raises: PlayerError."""
    roles = roles_of(league, population)
    table = population_table(league, population)
    if table.rows:
        return _by_ratings(league, population, table, roles)
    return _by_returns(league, population, return_table(league, population), roles)


# --- games won and margins ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """A rating table, and the joint uncertainty of its ratings; places is None where there is none.

    places      player's name -> its place in the covariance
    covariance  [k, k]
    """

    table: RatingTable
    places: Mapping[str, int] | None
    covariance: NDArray[np.float64]

    def covariance_of(self, rows: Sequence[Standing]) -> NDArray[np.float64]:
        """[k, k] of the ratings of these rows; without a joint one, from their intervals."""
        if self.places is not None:
            own = [self.places[row.player.name] for row in rows]
            return self.covariance[np.ix_(own, own)]
        errors = [
            (row.high - row.low) / (2 * NORMAL_975)
            for row in rows
            if row.low is not None and row.high is not None
        ]
        return np.diag(np.square(errors))

    def rated(self, row: Standing) -> bool:
        """Whether the row has a rating with an uncertainty."""
        if row.rating is None:
            return False
        if self.places is None:
            return row.low is not None and row.high is not None
        return row.player.name in self.places


def _by_ratings(
    league: League, population: str, table: RatingTable, roles: Sequence[str]
) -> StrengthHistory:
    if table.rated.joint is None:
        known = _Table(table, None, np.zeros((0, 0)))
    else:
        joint = table.rated.joint()
        places = {player.name: at for at, player in enumerate(joint.players)}
        known = _Table(table, places, joint.covariance)
    wins = table.objective == "win"
    return StrengthHistory(
        "elo" if wins else "margin",
        SMALL_ELO if wins else _small_margin(table),
        any(row.player == ANCHOR and row.rating is not None for row in table.rows),
        round(sum(row.total.games for row in table.rows) / 2),
        tuple(_rated_role(league, population, known, role, len(roles)) for role in roles),
    )


def _small_margin(table: RatingTable) -> float:
    deviations = table.rated.facts.get("deviations") or {}
    return SMALL_SHARE * float(deviations.get("pair") or deviations.get("game") or 0.0)


def _rated_role(
    league: League, population: str, known: _Table, role: str, among: int
) -> RoleHistory:
    table = known.table
    rows = [
        row
        for row in table.rows
        if row.snapshot is not None
        and row.snapshot.population == population
        and row.role == role
        and known.rated(row)
    ]
    best = best_standing(table.rows, role)
    claim = None if best is None else best_of_many(league, population, table, role)
    of = 1 if claim is None else claim.candidates
    wins = table.objective == "win"
    return RoleHistory(
        role,
        tuple(_rated_snapshot(row, wins=wins) for row in rows),
        known.covariance_of(rows),
        None if best is None or claim is None else _best(best, claim),
        _anchor_scores(table, best, of * among) if best is not None and wins else (),
        among,
    )


def _rated_snapshot(row: Standing, *, wins: bool) -> RatedSnapshot:
    assert row.snapshot is not None and row.rating is not None
    record, met = row.snapshot.record, row.results.get(ANCHOR)
    scores = (_score(ANCHOR.name, met, 1),) if wins and met is not None and met.games else ()
    return RatedSnapshot(
        record.member,
        record.frames,
        row.label,
        row.rating,
        row.low,
        row.high,
        row.total.games,
        scores,
    )


def _best(row: Standing, claim: BestOfMany) -> BestPlayer:
    assert row.snapshot is not None and row.rating is not None
    alone = claim.candidates == 1
    low = row.low if claim.own_low is None or alone else claim.own_low
    member = row.snapshot.record.member
    return BestPlayer(
        row.label, member, row.rating, low, row.high if alone else None, claim.candidates
    )


def _anchor_scores(table: RatingTable, best: Standing, of: int) -> tuple[AnchorScore, ...]:
    """The scores of the best against players that do not learn, `random` first.

    They are the scripted ones, anchors, and the first snapshot of its own member. of: candidates of
    the best.
    """
    assert best.snapshot is not None
    member = best.snapshot.record.member
    own = [
        row.snapshot.record.frames
        for row in table.rows
        if row.snapshot is not None and row.snapshot.record.member == member
    ]
    fixed = [
        row
        for row in table.rows
        if row.player != best.player
        and best.results.get(row.player) is not None
        and (row.snapshot is None or row.snapshot.is_anchor or _is_first(row, member, min(own)))
    ]
    order = sorted(
        fixed, key=lambda row: (row.player != ANCHOR, row.snapshot is not None, row.label)
    )
    return tuple(_score(row.label, best.results[row.player], of) for row in order)


def _is_first(row: Standing, member: str, frames: int) -> bool:
    """Whether it is the snapshot of a member at these frames."""
    assert row.snapshot is not None
    return row.snapshot.record.member == member and row.snapshot.record.frames == frames


def _score(player: str, tally: Tally, of: int) -> AnchorScore:
    """of: number of scores of which the intervals hold together (Bonferroni)."""
    low, high = jeffreys_interval(tally.score, effective_games(tally), 0.05 / of)
    return AnchorScore(player, tally.score, low, high, tally.games)


# --- returns --------------------------------------------------------------------------------------


def _by_returns(
    league: League, population: str, table: ReturnTable, roles: Sequence[str]
) -> StrengthHistory:
    variance, freedom = _variance([list(games.values()) for games in table.games.values()])
    games = {game for own in table.games.values() for game in own}
    # Few games say badly how much a game varies: Student's t is wider than the normal distribution.
    wider = (float(stdtrit(freedom, 0.975)) / NORMAL_975) ** 2 if freedom else 0.0
    return StrengthHistory(
        "return",
        SMALL_SHARE * math.sqrt(variance),
        False,
        len(games),
        tuple(
            _returning_role(league, population, table, role, (variance, wider), len(roles))
            for role in roles
        ),
    )


def _variance(values: Sequence[Sequence[float]]) -> tuple[float, int]:
    """(variance of a game's return around the mean of its player, its degrees of freedom)."""
    freedom = sum(len(own) - 1 for own in values)
    squares = sum(float(np.var(own)) * len(own) for own in values)
    return (squares / freedom if freedom else 0.0), freedom


def _returning_role(
    league: League,
    population: str,
    table: ReturnTable,
    role: str,
    noise: tuple[float, float],
    among: int,
) -> RoleHistory:
    """noise: variance of a game's return, and the factor by which few games widen it."""
    variance, wider = noise
    rows = [row for row in table.rows if row.role == role and row.snapshot.population == population]
    best = best_by_return(table.rows, role)
    claim = None if best is None else best_return_of_many(league, population, table, role)
    return RoleHistory(
        role,
        tuple(_returning(row) for row in rows),
        wider * _return_covariance(table, rows, variance),
        None if best is None or claim is None else _best_return(best, claim),
        among=among,
    )


def _returning(row: ReturnStanding) -> RatedSnapshot:
    record = row.snapshot.record
    return RatedSnapshot(
        record.member, record.frames, row.label, row.mean, row.low, row.high, row.games
    )


def _best_return(row: ReturnStanding, claim: BestOfMany) -> BestPlayer:
    alone = claim.candidates == 1
    low = row.low if claim.own_low is None or alone else claim.own_low
    member = row.snapshot.record.member
    return BestPlayer(
        row.label, member, row.mean, low, row.high if alone else None, claim.candidates
    )


def _return_covariance(
    table: ReturnTable, rows: Sequence[ReturnStanding], variance: float
) -> NDArray[np.float64]:
    """[k, k] of mean returns.

    variance  of a game's return

    Two players that sat in one game share its luck, wholly in a cooperative game. How much they
    share is the mean product of their distances from their means, in [0, 1] of the variance.
    """
    games = [table.games[row.snapshot.record.snapshot_id] for row in rows]
    places = {game: at for at, game in enumerate(sorted({game for own in games for game in own}))}
    row_of = np.repeat(np.arange(len(games)), [len(own) for own in games])
    column = np.array([places[game] for own in games for game in own], dtype=np.intp)
    number = np.array([len(own) for own in games], dtype=np.float64)
    got = np.array([value for own in games for value in own.values()])
    off = got - np.array([row.mean for row in rows])[row_of] if len(rows) else got
    together, alone = np.bincount(column, off), np.bincount(column, off**2)
    seats = np.bincount(column)
    pairs = float((seats**2 - seats).sum())
    shared = float((together**2 - alone).sum()) / pairs / variance if pairs and variance else 0.0
    met = csr_array((1 / number[row_of], (row_of, column)), shape=(len(games), len(places)))
    shared = min(1.0, max(0.0, shared))
    common = np.asarray((met @ met.T).toarray(), dtype=np.float64)
    covariance: NDArray[np.float64] = variance * (
        shared * common + (1 - shared) * np.diag(1 / np.maximum(number, 1.0))
    )
    return covariance
