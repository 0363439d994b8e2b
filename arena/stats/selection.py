"""The best of many: what its rating says although it was chosen for it.

The greatest of many ratings is too high in the mean, and its interval covers too rarely, because
luck helped to choose it. Three answers: fresh games, which the choice did not use; a lower end that
holds for all candidates at once, whichever is chosen; and the set of candidates that may be the
best.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtri, stdtrit

from arena.stats.intervals import jeffreys_interval
from arena.stats.score import MatchStatistics, effective_games, effective_pairs, elo_of_score

Floats = NDArray[np.float64]
LEVEL = 0.95
DRAWS = 20_000
_CHUNK_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class Headline:
    """The strength of a player that was chosen before these games, from these games alone.

    elo    Elo above its opponent; None where it won or lost all games
    low    lower end of the 95 % interval; None where there is no bound
    high   upper end of the 95 % interval; None where there is no bound
    games  number of games
    """

    elo: float | None
    low: float | None
    high: float | None
    games: int


def fresh_headline(fresh: MatchStatistics) -> Headline:
    """The headline from a match that was played after the choice, with seeds of its own.

    Choice and games are independent, so the interval of such games covers as often as it says. Elo
    is that of a score to which half a won and half a lost game are added, in games of equal
    certainty: log odds found from n games are too far from 0 by 1 / (2 n) of their slope, which
    this takes out (Firth 1993; Haldane 1956). That is the mean under Jeffreys' prior, which gives
    the interval, too: the best player of a league hardly ever loses to `random`.
    """
    if fresh.elo is None:
        return Headline(None, fresh.elo_low, fresh.elo_high, fresh.total.games)
    number = (
        effective_pairs(fresh.pair_counts) if fresh.pair_counts else effective_games(fresh.total)
    )
    score = (fresh.score * number + 0.5) / (number + 1)
    low, high = fresh.elo_low, fresh.elo_high
    # Pairs that are few, or all alike, do not say how certain they are.
    if fresh.interval == "pairs" or not fresh.pair_counts:
        low, high = map(elo_of_score, jeffreys_interval(fresh.score, number))
    return Headline(elo_of_score(score), low, high, fresh.total.games)


def means_with_covariance(values: Sequence[Mapping[int, float]]) -> tuple[Floats, Floats]:
    """([k] means, [k, k] their covariance) of candidates that were measured in games.

    values  of each candidate, what it got by game, in two games or more. Two that sat in one game
            are correlated by it; candidates without common games are independent

    The variance of a candidate with few games is known badly, so its standard error is too small by
    the ratio of Student's and the normal quantile. It is multiplied by that ratio at the level at
    which k independent comparisons hold with 95 % (Šidák 1967).
    """
    number = np.array([len(one) for one in values], dtype=np.float64)
    means = np.array([np.mean(list(one.values())) for one in values])
    places = {game: at for at, game in enumerate(sorted({game for one in values for game in one}))}
    level = LEVEL ** (1 / max(1, len(values)))
    scale = stdtrit(number - 1, level) / ndtri(level) / np.sqrt(number * (number - 1))
    column = np.repeat(np.arange(len(values)), number.astype(np.intp))
    row = np.array([places[game] for one in values for game in one], dtype=np.intp)
    got = np.array([value for one in values for value in one.values()])
    off = csr_array(
        ((got - means[column]) * scale[column], (row, column)), shape=(len(places), len(values))
    )
    return means, np.asarray((off.T @ off).toarray(), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class LowerEnd:
    """The candidate with the greatest lower end.

    chosen    its index
    low       value - quantile * standard error of the chosen. With 95 % its true strength is above
              that, and so is the strength of the best
    lows      [k] value - quantile * standard error of each; with 95 % all of them hold at once
    quantile  of the greatest of all standardised errors; 1.645 for one candidate
    """

    chosen: int
    low: float
    lows: Floats
    quantile: float


def simultaneous_lower_end(
    values: Floats, covariance: Floats, rng: np.random.Generator, draws: int = DRAWS
) -> LowerEnd:
    """max_i (value_i - q s_i), and the candidate at which it is.

    values      [k] estimated strengths
    covariance  [k, k] of their errors, which are taken as normal
    rng         draws the errors
    draws       number of drawn errors

    q is the 95 % quantile of max_i (error_i / s_i) under the joint distribution of all errors (as
    in Dunnett 1955 and Hsu 1996, chapter 2), so that with 95 % all lower ends hold at once.
    """
    error = np.sqrt(np.diag(covariance))
    scale = np.where(error > 0, error, 1.0)
    greatest = np.concatenate(
        [(part / scale).max(axis=1) for part in _drawn(covariance, rng, draws)]
    )
    quantile = float(np.quantile(greatest, LEVEL))
    lows = values - quantile * error
    chosen = int(np.argmax(lows))
    return LowerEnd(chosen, float(lows[chosen]), lows, quantile)


def may_be_best(
    values: Floats, covariance: Floats, rng: np.random.Generator, draws: int = DRAWS
) -> NDArray[np.bool_]:
    """[k] the set that holds the best candidate with 95 %: multiple comparison with the best.

    Arguments as in `simultaneous_lower_end`; a candidate may be the anchor, whose row and column
    are 0. Candidate i stays where value_i - value_j >= -q_i s_ij for all j, s_ij the standard error
    of the difference, q_i the 95 % quantile of max_j (error_j - error_i) / s_ij: a one-sided
    comparison of all with i, which errs for the best one in 5 % (Hsu 1984; Hsu 1996, chapter 4).
    """
    number = len(values)
    own = np.diag(covariance)
    error = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * covariance, 0.0))
    # Copies have the same strength, up to rounding.
    error[error < 1e-6 * math.sqrt(max(float(own.max(initial=0.0)), 1e-300))] = 0.0
    lead = values[:, None] - values[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        standard = np.where(error > 0, lead / error, np.where(lead >= 0, math.inf, -math.inf))
    np.fill_diagonal(standard, math.inf)
    worst = standard.min(axis=1)
    # q_i lies between the quantile of one comparison and Bonferroni's of all of them.
    inside: NDArray[np.bool_] = worst >= ndtri(1 - LEVEL)
    open_ones = ~inside & (worst >= ndtri((1 - LEVEL) / max(1, number - 1)))
    parts = list(_drawn(covariance, rng, draws)) if open_ones.any() else []
    for i in np.flatnonzero(open_ones):
        others = error[i] > 0
        greatest = np.concatenate(
            [((part[:, others] - part[:, [i]]) / error[i, others]).max(axis=1) for part in parts]
        )
        inside[i] = worst[i] >= -float(np.quantile(greatest, LEVEL))
    return inside


def _drawn(covariance: Floats, rng: np.random.Generator, draws: int) -> list[Floats]:
    """Normal errors of this covariance, [draws, k], in parts."""
    variance, turn = np.linalg.eigh(covariance)
    root = turn * np.sqrt(np.maximum(variance, 0.0))
    number = len(covariance)
    chunk = max(1, _CHUNK_CELLS // max(1, number))
    return [
        rng.standard_normal((min(chunk, draws - start), number)) @ root.T
        for start in range(0, draws, chunk)
    ]
