"""Ratings from counted results: Bradley & Terry 1952, fitted by maximum likelihood.

P(i beats j) = 1 / (1 + 10 ** ((elo_j - elo_i) / 400)). A draw is half a win for both players, as in
Elo's own scale. The anchor's rating is 0; without an anchor, the mean of all players is 0. Every
fit uses all games, so the order of the games changes nothing.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit

from pbt.errors import EngineError

P = TypeVar("P", bound=Hashable)

ELO_PER_NAT = 400.0 / math.log(10.0)
NORMAL_975 = 1.959963984540054
PRIOR_DRAWS = 1.0
BEST_MIN_GAMES = 30
_TOLERANCE, _DECREMENT, _STEPS, _LONGEST_STEP = 1e-10, 1e-16, 200, 5.0


@dataclass(frozen=True, slots=True)
class PairResult(Generic[P]):
    """Results of one player against another.

    A game of three or more yields several pairs; the numbers are then weights, not counts.

    a       a player
    b       its opponent
    wins    games that `a` won
    draws   games that were drawn
    losses  games that `a` lost
    """

    a: P
    b: P
    wins: float
    draws: float
    losses: float


@dataclass(frozen=True, slots=True)
class Rating(Generic[P]):
    """The rating of one player, relative to the anchor, or to the mean of the rated players.

    player  the player
    elo     its rating; None when no chain of games connects the player to the anchor
    low     lower end of the rating's 95 % interval, None as `elo`
    high    upper end of the rating's 95 % interval, None as `elo`
    games   sum of the player's results, in games or weights
    """

    player: P
    elo: float | None
    low: float | None
    high: float | None
    games: float

    @property
    def connected(self) -> bool:
        return self.elo is not None


@dataclass(frozen=True, slots=True)
class PairCounts:
    """The results of every two players that met, each pair once.

    first   [pairs] indices into a list of players
    second  [pairs] indices of their opponents
    score   [pairs] points of the first: a win is 1, a draw is 1/2
    number  [pairs] games, above 0
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    score: NDArray[np.float64]
    number: NDArray[np.float64]


def fit_counts(
    players: Sequence[P], counts: PairCounts, anchor: P | None, prior_draws: float = PRIOR_DRAWS
) -> list[Rating[P]]:
    """Ratings of all players, best first, players without a rating last.

    anchor       the player whose rating is 0. None: the largest group of players that games
                 connect is rated, and its mean is 0
    prior_draws  virtual draws per player, spread over its opponents as its games are. They keep
                 the rating of a 10-0 finite and weigh little against real games. For two players, 1
                 is Jeffreys' prior, half a win for each. 0 gives plain maximum likelihood, which
                 fails where a rating would be infinite
    Raises: EngineError when the fit does not converge.
    """
    first, second, score, number = counts.first, counts.second, counts.score, counts.number
    played = np.bincount(first, number, len(players)) + np.bincount(second, number, len(players))
    elo, error = np.full(len(players), np.nan), np.full(len(players), np.nan)
    if players and (anchor is None or anchor in players):
        graph = coo_array(
            (np.ones(len(first)), (first, second)), shape=(len(players), len(players))
        )
        labels = connected_components(graph, directed=False)[1]
        inside = rated_group(labels, None if anchor is None else players.index(anchor))
        pairs = inside[first]
        virtual = prior_draws / 2 * (number / played[first] + number / played[second])
        near, place = np.flatnonzero(inside), np.cumsum(inside) - 1
        smooth = PairCounts(
            place[first[pairs]],
            place[second[pairs]],
            (score + virtual / 2)[pairs],
            (number + virtual)[pairs],
        )
        elo[near], error[near] = _fit(
            smooth, None if anchor is None else int(place[players.index(anchor)]), len(near)
        )
    return ratings(players, elo, error, played.tolist())


def rated_group(labels: NDArray[np.int32], anchor: int | None) -> NDArray[np.bool_]:
    """[players] whether a player is rated: the anchor's group, or without one the largest group.

    labels  [players] the group of each player: games connect the players of a group
    anchor  index of the anchor
    """
    rated: NDArray[np.bool_] = labels == (
        np.argmax(np.bincount(labels)) if anchor is None else labels[anchor]
    )
    return rated


def _fit(
    counts: PairCounts, anchor: int | None, players: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As `most_likely`."""
    first, second, score, number = counts.first, counts.second, counts.score, counts.number

    def likelihood(at: NDArray[np.float64]) -> float:
        gap = at[first] - at[second]
        return float(np.sum(score * log_expit(gap) + (number - score) * log_expit(-gap)))

    def slope(at: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        win = expit(at[first] - at[second])
        surplus = score - number * win
        gradient: NDArray[np.float64] = np.subtract(
            np.bincount(first, surplus, players), np.bincount(second, surplus, players)
        )
        return gradient, _information(first, second, number * win * (1 - win), players)

    return most_likely(likelihood, slope, players, anchor, needed="a win and a loss")


def most_likely(
    likelihood: Callable[[NDArray[np.float64]], float],
    slope: Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]],
    players: int,
    anchor: int | None,
    needed: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(elo, standard error), [players] each, of the most likely strengths, by Newton's method.

    likelihood  the log-likelihood of strengths, [players] natural logarithms
    slope       (gradient, negative Hessian) of the log-likelihood at these strengths
    anchor      index of the player whose rating is 0; None makes the mean 0
    needed      what every player needs without a prior, for the error
    Raises: EngineError when the fit does not converge.
    """
    free = np.flatnonzero(np.arange(players) != (anchor or 0))
    strength = np.zeros(players)
    if not len(free):
        return strength, strength.copy()
    value = likelihood(strength)
    for _ in range(_STEPS):
        gradient, information = slope(strength)
        try:
            factor = cho_factor(information[np.ix_(free, free)])
        except np.linalg.LinAlgError:
            break
        step = np.zeros(players)
        step[free] = cho_solve(factor, gradient[free])
        # With many games, rounding keeps the steps of players with few games from getting small.
        # The fit therefore also ends when a step no longer gains likelihood.
        if np.max(np.abs(step)) < _TOLERANCE or float(gradient @ step) < _DECREMENT:
            covariance = cho_solve(factor, np.eye(len(free)))
            return _elo_and_error(strength + step, covariance, free, centred=anchor is None)
        strength, value = _gaining_step(likelihood, strength, value, step)
        if not math.isfinite(value):
            break
    raise EngineError(
        f"ratings of {players} players did not converge; without a prior every player needs "
        f"{needed}"
    )


def _gaining_step(
    likelihood: Callable[[NDArray[np.float64]], float],
    strength: NDArray[np.float64],
    value: float,
    step: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    """(strength, log-likelihood) after the longest of step, step / 2, step / 4, ... that gains.

    value  the log-likelihood before the step
    """
    # Where the likelihood is almost flat, a full step goes too far for halving to bring it back.
    step = step * min(1.0, _LONGEST_STEP / float(np.max(np.abs(step))))
    scale = 1.0
    # "not >=" also halves a step to a likelihood that is nan.
    while (
        not (tried := likelihood(strength + scale * step)) >= value - 1e-9 * abs(value)
        and scale > 1e-6
    ):
        scale /= 2
    return strength + scale * step, tried


def _information(
    first: NDArray[np.intp], second: NDArray[np.intp], weight: NDArray[np.float64], players: int
) -> NDArray[np.float64]:
    """[players, players] negative Hessian: the graph Laplacian of the pair weights n p (1 - p)."""
    information = np.zeros((players, players))
    np.add.at(information, (first, second), -weight)
    np.add.at(information, (second, first), -weight)
    np.fill_diagonal(
        information, np.bincount(first, weight, players) + np.bincount(second, weight, players)
    )
    return information


def _elo_and_error(
    strength: NDArray[np.float64],
    covariance: NDArray[np.float64],
    free: NDArray[np.intp],
    *,
    centred: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(elo, standard error), [players] each.

    strength    [players] natural logarithms
    covariance  [free, free] covariance of the strengths that are not pinned
    free        [free] indices of the players that are not pinned
    centred     whether the mean is 0, instead of the pinned player
    """
    whole = np.zeros((len(strength), len(strength)))
    whole[np.ix_(free, free)] = covariance
    if centred:
        strength = strength - strength.mean()
        whole = whole - whole.mean(axis=0) - whole.mean(axis=1)[:, None] + whole.mean()
    return strength * ELO_PER_NAT, np.sqrt(np.maximum(np.diag(whole), 0.0)) * ELO_PER_NAT


def ratings(
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
    rated = [
        Rating(player, None, None, None, float(played))
        if math.isnan(value)
        else Rating(player, value, value - half, value + half, float(played))
        for player, value, half, played in zip(
            players, elo.tolist(), (NORMAL_975 * error).tolist(), games, strict=True
        )
    ]
    return sorted(
        rated,
        key=lambda rating: (math.inf if rating.elo is None else -rating.elo, str(rating.player)),
    )
