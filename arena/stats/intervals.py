"""Intervals of means and proportions, and how a value is shown with its interval."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import betaincinv, stdtrit

from arena.stats.bradley_terry import NORMAL_975


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """mean ± t(0.975, n - 1) sqrt(variance / n); None for fewer than two different values."""
    # Values that are all equal do not show how much such values vary.
    if len(set(values)) < 2:
        return None
    mean = float(np.mean(values))
    return spread_interval(len(values), mean, float(np.sum((np.asarray(values) - mean) ** 2)))


def spread_interval(number: int, mean: float, squares: float) -> tuple[float, float] | None:
    """`mean_interval` of values that were summed up; None where they are all equal.

    number   how many values
    squares  sum of their squared distances from the mean
    """
    if number < 2 or squares <= 0.0:
        return None
    half = float(stdtrit(number - 1, 0.975)) * math.sqrt(squares / (number - 1) / number)
    return mean - half, mean + half


def wilson_interval(score: float, games: float) -> tuple[float, float]:
    """(low, high), 95 % (Wilson 1927): inside [0, 1], never empty, also for a score of 0 or 1.

    games  for games with draws: `effective_games`
    """
    z2 = NORMAL_975**2
    middle = (score + z2 / (2 * games)) / (1 + z2 / games)
    half = (
        NORMAL_975 * math.sqrt(score * (1 - score) / games + z2 / (4 * games**2)) / (1 + z2 / games)
    )
    return (0.0 if score == 0.0 else max(0.0, middle - half)), (
        1.0 if score == 1.0 else min(1.0, middle + half)
    )


def jeffreys_interval(score: float, games: float, miss: float = 0.05) -> tuple[float, float]:
    """(low, high), with equal tails: quantiles of Beta(won + 1/2, lost + 1/2).

    Its misses lie below and above as often, also where games are hardly ever lost; those of
    Wilson's interval then lie above (Brown, Cai & DasGupta 2001). A score of 0 or 1 has the bound
    that no games could take away.

    games  as in `wilson_interval`
    miss   chance that the score is outside
    """
    won, lost = score * games, (1 - score) * games
    ends = (miss / 2, 1 - miss / 2)
    low, high = (float(betaincinv(won + 0.5, lost + 0.5, end)) for end in ends)
    return 0.0 if won == 0 else low, 1.0 if lost == 0 else high


def with_interval(value: float, low: float, high: float) -> str:
    """Elo with its interval: "+0.0 ± 48.0" or "+133.1 [+96.0, +175.9]".

    The second form stands where the ends are not equally far away at the printed precision.
    """
    below, above = f"{value - low:.1f}", f"{high - value:.1f}"
    # "+ 0.0" makes 0 of a negative zero.
    return (
        f"{value + 0.0:+.1f} ± {above}"
        if below == above
        else f"{value + 0.0:+.1f} [{low:+.1f}, {high:+.1f}]"
    )
