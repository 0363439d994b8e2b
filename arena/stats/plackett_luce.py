"""Ratings from games of three or more players: Plackett-Luce, fitted by maximum likelihood.

P(i is first in a set S) = w_i / sum of w over S, and then the same for the players that are left
(Luce 1959, Plackett 1975); w = 10 ** (elo / 400). The scale is that of `arena.stats.bradley_terry`.
For two players without ties and without a prior both fits are equal. A tie counts as every order of
the tied players, each order with an equal part of the game, so a draw of two players is half a win
for both.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from arena.stats.bradley_terry import (
    ELO_PER_NAT,
    NORMAL_975,
    P,
    Rating,
    best_first,
    rated_group,
)
from arena.stats.newton import maximum
from pbt.errors import EngineError

PRIOR_DRAWS = 1.0
# Up to this many tied players m, all 2 ** m subsets of them are counted. More tied players are put
# in a circle, and only the subsets of neighbours are counted.
MAX_TIED = 10
# A set of players (indices, ascending) from which one was chosen -> how often that happened. These
# sets are the denominators of the likelihood.
_Sets = defaultdict[tuple[int, ...], float]
_Chosen = defaultdict[int, float]


@dataclass(frozen=True, slots=True)
class Ranking(Generic[P]):
    """The result of one or more games. A player may hold several seats.

    players  the players, by seat
    places   [seats] smaller is better, equal places are a tie
    games    how many games ended with this result
    """

    players: tuple[P, ...]
    places: tuple[int, ...]
    games: int = 1


@dataclass(frozen=True, slots=True)
class RankingFit(Generic[P]):
    """Ratings with their joint uncertainty, as if all games were independent.

    ratings     of all players with games, best first, players without a rating last
    players     [k] the rated players
    values      [k] their Elo
    covariance  [k, k] of `values`; zeros in row and column of the anchor
    """

    ratings: list[Rating[P]]
    players: tuple[P, ...]
    values: NDArray[np.float64]
    covariance: NDArray[np.float64]


def fit_rankings(
    rankings: Iterable[Ranking[P]], anchor: P | None, prior_draws: float = PRIOR_DRAWS
) -> list[Rating[P]]:
    """The ratings of `fit_jointly`."""
    return fit_jointly(rankings, anchor, prior_draws).ratings


def fit_jointly(
    rankings: Iterable[Ranking[P]], anchor: P | None, prior_draws: float = PRIOR_DRAWS
) -> RankingFit[P]:
    """Ratings of all players with games.

    rankings     results of games
    anchor       the player whose rating is 0. None: the largest group of players that games
                 connect is rated, and its mean is 0
    prior_draws  virtual draws per player, spread over the players that it met as its games are.
                 They keep the rating of a player that always won finite; 0 gives plain maximum
                 likelihood, which fails where a rating would be infinite
    Raises: EngineError on a game with fewer than two seats or with another number of places, and
    when the fit does not converge.
    """
    played, met, chosen, sets = _terms(rankings)
    players = list(played)
    elo, error = np.full(len(players), np.nan), np.full(len(players), np.nan)
    near, covariance = np.arange(0), np.zeros((0, 0))
    if players and (anchor is None or anchor in played):
        _add_prior(met, len(players), prior_draws, chosen, sets)
        counts = np.array(list(sets.values()))
        members = _membership(sets, len(players))
        labels = connected_components(members.T @ members, directed=False)[1]
        place = None if anchor is None else players.index(anchor)
        near = np.flatnonzero(rated_group(labels, place))
        # A set holds players of one component only.
        own = (
            np.flatnonzero(np.isin(labels, labels[near[0]])[members.indices[members.indptr[:-1]]])
            if len(counts)
            else np.arange(0)
        )
        gains = np.array([chosen[int(i)] for i in near])
        pinned = None if place is None else int(np.searchsorted(near, place))
        elo[near], covariance = _fit(members[own][:, near], counts[own], gains, pinned)
        error[near] = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    ratings = _ratings(players, elo, error, list(played.values()))
    return RankingFit(ratings, tuple(players[i] for i in near), elo[near], covariance)


def _terms(
    rankings: Iterable[Ranking[P]],
) -> tuple[dict[P, int], Counter[tuple[int, int]], _Chosen, _Sets]:
    """(games by player, common games by two players, how often each was chosen, the sets).

    The sets are those from which a player was chosen, with how often.
    """
    index: dict[P, int] = {}
    played: dict[P, int] = {}
    met: Counter[tuple[int, int]] = Counter()
    chosen: _Chosen = defaultdict(float)
    sets: _Sets = defaultdict(float)
    for ranking in rankings:
        if len(ranking.players) < 2 or len(ranking.players) != len(ranking.places):
            raise EngineError(f"{ranking}: expected at least two players and a place for each")
        seats = [index.setdefault(player, len(index)) for player in ranking.players]
        for player in dict.fromkeys(ranking.players):
            played[player] = played.get(player, 0) + ranking.games
        for pair in combinations(sorted(set(seats)), 2):
            met[pair] += ranking.games
        by_place: dict[int, list[int]] = {}
        for seat, place in sorted(zip(seats, ranking.places, strict=True)):
            by_place.setdefault(place, []).append(seat)
        rest: list[int] = []
        for place in sorted(by_place, reverse=True):
            _add_tied(by_place[place], rest, ranking.games, chosen, sets)
            rest += by_place[place]
    return played, met, chosen, sets


def _add_tied(
    tied: Sequence[int], rest: Sequence[int], games: int, chosen: _Chosen, sets: _Sets
) -> None:
    """Adds the likelihood's terms of choosing all of `tied`, in any order, before `rest`."""
    for seat in tied:
        chosen[seat] += games
    for size in range(1, len(tied) + 1):
        neighbours = (tuple([*tied, *tied][start : start + size]) for start in range(len(tied)))
        left = list(combinations(tied, size) if len(tied) <= MAX_TIED else neighbours)
        for part in left:
            sets[tuple(sorted([*part, *rest]))] += games / len(left)


def _add_prior(
    met: Counter[tuple[int, int]], players: int, prior_draws: float, chosen: _Chosen, sets: _Sets
) -> None:
    total = np.zeros(players)
    for (i, j), games in met.items():
        total[[i, j]] += games
    for (i, j), games in met.items() if prior_draws > 0 else ():
        virtual = prior_draws / 2 * (games / total[i] + games / total[j])
        chosen[i] += virtual / 2
        chosen[j] += virtual / 2
        sets[i, j] += virtual


def _membership(sets: _Sets, players: int) -> csr_array:
    """[sets, players] how many seats a player holds in a set."""
    row = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    column = np.array([i for members in sets for i in members], dtype=np.intp)
    members = csr_array((np.ones(len(column)), (row, column)), shape=(len(sets), players))
    members.sum_duplicates()
    return members


@dataclass(frozen=True)
class _Point:
    """The log-likelihood of strengths.

    values     [free] natural logarithms, of all players but the pinned one
    curvature  [free, free] negative Hessian
    """

    values: NDArray[np.float64]
    value: float
    gradient: NDArray[np.float64]
    curvature: NDArray[np.float64]


def _fit(
    members: csr_array, counts: NDArray[np.float64], chosen: NDArray[np.float64], anchor: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(elo [players], its covariance [players, players]); without an anchor the mean is 0."""
    players = members.shape[1]
    free = np.flatnonzero(np.arange(players) != (anchor or 0))

    def at(values: NDArray[np.float64]) -> _Point:
        strength = np.zeros(players)
        strength[free] = values
        weight = np.exp(strength)
        total = members @ weight
        share = members.multiply(weight[None, :]).multiply((1 / total)[:, None]).tocsr()
        expected = share.T @ counts
        information = np.diag(expected) - (share.T @ share.multiply(counts[:, None])).toarray()
        return _Point(
            values,
            float(chosen @ strength - counts @ np.log(total)),
            (chosen - expected)[free],
            information[np.ix_(free, free)],
        )

    best = maximum(at, np.zeros(len(free)), needed="another player above and below it")
    return _elo_with_covariance(best, free, players, centred=anchor is None)


def _elo_with_covariance(
    best: _Point, free: NDArray[np.intp], players: int, *, centred: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(elo [players], its covariance [players, players]).

    free     [free] indices of the players that are not pinned
    centred  whether the mean is 0, instead of the pinned player
    """
    strength, covariance = np.zeros(players), np.zeros((players, players))
    strength[free] = best.values
    covariance[np.ix_(free, free)] = np.linalg.inv(best.curvature)
    if centred:
        strength = strength - strength.mean()
        covariance -= covariance.mean(axis=0) + covariance.mean(axis=1)[:, None] - covariance.mean()
    return strength * ELO_PER_NAT, covariance * ELO_PER_NAT**2


def _ratings(
    players: Sequence[P],
    elo: NDArray[np.float64],
    error: NDArray[np.float64],
    games: Sequence[float],
) -> list[Rating[P]]:
    """The ratings with their 95 % intervals, best first, players without a rating last.

    elo    [players] nan for a player that no games connect to those rated
    error  [players] standard errors of elo
    games  [players] sum of the player's results
    """
    return best_first(
        [
            Rating(player, None, None, None, float(played))
            if math.isnan(value)
            else Rating(player, value, value - half, value + half, float(played))
            for player, value, half, played in zip(
                players, elo.tolist(), (NORMAL_975 * error).tolist(), games, strict=True
            )
        ]
    )
