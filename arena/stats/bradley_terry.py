"""Ratings from counted results: Bradley & Terry 1952, fitted by maximum likelihood.

P(i beats j) = 1 / (1 + 10 ** ((elo_j - elo_i) / 400)). A draw is half a win for both players, as in
Elo's own scale. The anchor's rating is 0; without an anchor, the mean of all players is 0. Every
fit uses all games, so the order of the games changes nothing.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
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


def fit(
    results: Iterable[PairResult[P]], anchor: P | None, prior_draws: float = PRIOR_DRAWS
) -> list[Rating[P]]:
    """Ratings of all players with games, best first, players without a rating last.

    results      results of pairs; a pair may stand several times and in either order
    anchor       the player whose rating is 0. None: the largest group of players that games
                 connect is rated, and its mean is 0
    prior_draws  virtual draws per player, spread over its opponents as its games are. They keep
                 the rating of a 10-0 finite and weigh little against real games. For two players, 1
                 is Jeffreys' prior, half a win for each. 0 gives plain maximum likelihood, which
                 fails where a rating would be infinite
    Raises: EngineError on negative or non-finite counts, on a player against itself, and when the
    fit does not converge.
    """
    counts = _counts(results)
    players: list[P] = list(dict.fromkeys(player for pair in counts for player in pair))
    index = {player: i for i, player in enumerate(players)}
    first = np.array([index[a] for a, _ in counts], dtype=np.intp)
    second = np.array([index[b] for _, b in counts], dtype=np.intp)
    score, number = (
        np.array([value[k] for value in counts.values()], dtype=np.float64) for k in (0, 1)
    )
    return fit_counts(players, PairCounts(first, second, score, number), anchor, prior_draws)


def fit_counts(
    players: Sequence[P], counts: PairCounts, anchor: P | None, prior_draws: float = PRIOR_DRAWS
) -> list[Rating[P]]:
    """`fit` for counts that are already summed. Every player has met another one.

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
        inside = labels == (
            np.argmax(np.bincount(labels)) if anchor is None else labels[players.index(anchor)]
        )
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
    return by_rating(
        [rating_of(player, elo[i], error[i], played[i]) for i, player in enumerate(players)]
    )


def by_rating(ratings: Iterable[Rating[P]]) -> list[Rating[P]]:
    """Best first, players without a rating last."""
    return sorted(
        ratings,
        key=lambda rating: (math.inf if rating.elo is None else -rating.elo, str(rating.player)),
    )


def _counts(results: Iterable[PairResult[P]]) -> dict[tuple[P, P], tuple[float, float]]:
    """(a, b) -> (points of a, games). Each pair stands once; pairs without games are left out."""
    counts: dict[tuple[P, P], tuple[float, float]] = {}
    for result in results:
        parts = (result.wins, result.draws, result.losses)
        if result.a == result.b or not all(math.isfinite(part) and part >= 0 for part in parts):
            raise EngineError(
                f"result {result}: expected two players and finite counts of at least 0"
            )
        number = math.fsum(parts)
        if number == 0:
            continue
        score = result.wins + result.draws / 2
        pair = (result.a, result.b)
        if (result.b, result.a) in counts:
            pair, score = (result.b, result.a), number - score
        before = counts.get(pair, (0.0, 0.0))
        counts[pair] = (before[0] + score, before[1] + number)
    return counts


def _fit(
    counts: PairCounts, anchor: int | None, players: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(elo, standard error), [players] each, by Newton's method. anchor: None makes the mean 0."""
    first, second, score, number = counts.first, counts.second, counts.score, counts.number
    free = np.flatnonzero(np.arange(players) != (anchor or 0))
    strength = np.zeros(players)
    if not len(free):
        return strength, strength.copy()

    def likelihood(at: NDArray[np.float64]) -> float:
        gap = at[first] - at[second]
        return float(np.sum(score * log_expit(gap) + (number - score) * log_expit(-gap)))

    value = likelihood(strength)
    for _ in range(_STEPS):
        win = expit(strength[first] - strength[second])
        surplus = score - number * win
        gradient = np.bincount(first, surplus, players) - np.bincount(second, surplus, players)
        information = _information(first, second, number * win * (1 - win), players)
        try:
            factor = cho_factor(information[np.ix_(free, free)])
        except np.linalg.LinAlgError:
            break
        step = np.zeros(players)
        step[free] = cho_solve(factor, gradient[free])
        # With many games, rounding keeps the steps of players with few games from getting small.
        # The fit therefore also ends when a step no longer gains likelihood.
        if np.max(np.abs(step)) < _TOLERANCE or float(gradient @ step) < _DECREMENT:
            return elo_and_error(
                strength + step, cho_solve(factor, np.eye(len(free))), free, centred=anchor is None
            )
        strength, value = gaining_step(likelihood, strength, value, step)
    raise EngineError(
        f"ratings of {players} players did not converge; without a prior every player needs "
        "a win and a loss"
    )


def gaining_step(
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


def elo_and_error(
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


def rating_of(player: P, elo: float, error: float, games: float) -> Rating[P]:
    """The rating with its 95 % interval.

    player  the player
    elo     nan for a player that no games connect to those rated
    error   standard error of elo
    games   sum of the player's results
    """
    if math.isnan(elo):
        return Rating(player, None, None, None, float(games))
    return Rating(
        player,
        float(elo),
        float(elo - NORMAL_975 * error),
        float(elo + NORMAL_975 * error),
        float(games),
    )
