"""Confidence sequences: intervals of a match that hold whenever it is stopped.

An interval for a fixed number of games covers too rarely where the results themselves choose when
to stop. A confidence sequence covers the truth with 95 % at all looks together, so also at the look
at which a sequential test decides. The price is width.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

from arena.stats.score import MatchGame, MatchStatistics, elo_of_score, match_statistics
from arena.stats.sprt import Sprt

ERROR = 0.05
# Kelly bets on pairs of even players without draws are this share of what is at stake, per unit of
# the effect in deviations: the mean 1/2 over the deviation of a pair, 1/4 to 1/2.
_STAKE_PER_EFFECT = 1.4
_LARGEST_STAKE = 0.95


def duel_statistics(games: Sequence[MatchGame], test: Sprt | None) -> MatchStatistics:
    """The statistics of a match of two, with intervals that hold whatever stops it.

    test  the sequential test that may stop the match; None where its length is fixed. With a test,
          the interval of score and Elo is a confidence sequence. Normalised Elo and the
          likelihood of superiority, which hold for a fixed number of games only, are left out
    Raises: EngineError without games.
    """
    fixed = match_statistics(games)
    if test is None:
        return fixed
    counts = fixed.pair_counts or (fixed.total.losses, fixed.total.draws, fixed.total.wins)
    low, high = score_sequence(counts, test.window(2 if fixed.pair_counts else 1))
    return replace(
        fixed,
        low=low,
        high=high,
        interval="sequence",
        elo_low=elo_of_score(low),
        elo_high=elo_of_score(high),
        nelo=None,
        nelo_low=None,
        nelo_high=None,
        los=None,
    )


def score_sequence(counts: Sequence[int], effect: float) -> tuple[float, float]:
    """(low, high), 95 % at every look: a hedged betting confidence sequence of the mean score.

    counts  units by points, lowest first: of pairs 0, 0.5, 1, 1.5, 2, of games lost, drawn, won
    effect  the effect, in deviations of a unit, for which the sequence is narrowest when a
            sequential test of that window stops; fixed before the first game

    Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by betting", section
    4. Bets of the share f of the stake on every unit x against the mean m leave the capital
    prod (1 + f (x - m) / m), a martingale if m is true; so is the mean over several f. By
    Ville's inequality it ever reaches 2 / 0.05 in 2.5 % of all matches, and the low end is the
    largest m at which it has. The high end is that of the mirrored counts.
    """
    stakes = [_STAKE_PER_EFFECT * effect / 2]
    while stakes[-1] < _LARGEST_STAKE:
        stakes.append(min(2 * stakes[-1], _LARGEST_STAKE))
    shares = np.minimum(stakes, _LARGEST_STAKE)
    played = np.asarray(counts, dtype=np.float64)
    return _lower_end(played, shares), 1 - _lower_end(played[::-1], shares)


def _lower_end(counts: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """The largest mean against which the capital is 2 / 0.05 or more; 0 without one.

    The capital falls with the mean, and at the mean found it is at most 1.
    """
    scores = np.linspace(0.0, 1.0, len(counts))
    if not counts @ scores > 0:
        return 0.0

    def log_capital(logarithm: float) -> float:
        growth = np.log1p(shares[:, None] * (scores * math.exp(-logarithm) - 1)) @ counts
        return float(logsumexp(growth)) - math.log(len(shares)) - math.log(2 / ERROR)

    found = math.log(float(counts @ scores / counts.sum()))
    # Every unit above 0 multiplies the capital by more than the factor below of its inverse mean.
    lowest = found - 1.0
    while log_capital(lowest) < 0:
        lowest = 2 * lowest - found
    return math.exp(float(brentq(log_capital, lowest, found, xtol=1e-12)))


def margin_sequence(
    number: int, mean: float, deviation: float, effect: float
) -> tuple[float, float] | None:
    """(low, high), 95 % at every look, of a mean margin; None while it has no bounds.

    deviation  of the units, with n in it
    effect     as in `score_sequence`

    A mixture of t-tests over the strength theta = (mean - m) / sigma ~ N(0, effect^2), in which
    sigma cancels (Lai 1976; Wang & Ramdas 2024, "Anytime-valid t-tests and confidence sequences for
    Gaussian means with unknown variance"): with c = effect^-2, S = sum (y - m), V = sum (y - m)^2,
    sqrt(c / (n + c)) (V / (V - S^2 / (n + c)))^(n / 2) is a martingale for normal units of mean m,
    and m is in the sequence while it is below 1 / 0.05. For other units it holds as far as means
    are normal.
    """
    c = effect**-2
    rest = c / (number + c)
    # log of (V / (V - S^2 / (n + c))) at which the martingale is 1 / 0.05
    bound = math.exp((-math.log(rest) - 2 * math.log(ERROR)) / number)
    if bound * rest >= 1 or deviation <= 0:
        return None
    half = deviation * math.sqrt((bound - 1) / (1 - bound * rest))
    return mean - half, mean + half
