"""Comparison of two ways to train, from games of every run of one against every run of the other.

The training seed is the unit of evidence. More games between the same two runs say nothing about
the next run, so the interval comes from how the means of the runs vary. With rows r_i (a run of A
against all runs of B) and columns c_j, the variance of the mean is var(r) / m + var(c) / n, and the
interval is Student's t with Satterthwaite's degrees of freedom. The variance that belongs to a pair
of runs alone is in both terms, so the interval is slightly too wide (simulated in the tests).
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from pbt.errors import EngineError

Verdict = Literal["better", "worse", "undecided"]


@dataclass(frozen=True, slots=True)
class SeedMean:
    """The score of A, or its lead over B, with the 95 % interval over training runs.

    With a single run on either side, the spread of runs is unknown; all but the mean is None then.
    Where runs and games do not vary at all, there is no interval either.

    mean      mean over all pairs of runs
    low       lower end of the interval
    high      upper end of the interval
    spread_a  standard deviation of the means of A's runs
    spread_b  standard deviation of the means of B's runs
    freedom   degrees of freedom of t
    even      the mean of two equal configurations
    """

    mean: float
    low: float | None
    high: float | None
    spread_a: float | None
    spread_b: float | None
    freedom: float | None
    even: float

    @property
    def verdict(self) -> Verdict:
        """Whether A is better, with 95 % confidence."""
        if self.low is None or self.high is None:
            return "undecided"
        even = self.even
        return "better" if self.low > even else "worse" if self.high < even else "undecided"


def seed_score(scores: NDArray[np.float64], games: int) -> SeedMean:
    """The score of A over all runs.

    scores  [m, n] score of run i of A against run j of B
    games   games behind each of these scores
    Raises: EngineError unless all scores are in [0, 1].
    """
    if (
        scores.ndim != 2
        or not scores.size
        or games < 1
        or not np.all((scores >= 0) & (scores <= 1))
    ):
        raise EngineError(
            f"scores {scores.shape} of {games} games: expected a row per run of A, a column "
            "per run of B, and values in [0, 1]"
        )
    mean, total = float(scores.mean()), games * scores.size
    shrunk = (mean * total + 1) / (total + 2)
    found = _over_runs(scores, shrunk * (1 - shrunk) / total, 0.5)
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def seed_lead(leads: NDArray[np.float64], variances: NDArray[np.float64]) -> SeedMean:
    """How much more A gets than B over all runs, in the unit of the returns.

    leads      [m, n] mean lead of run i of A over run j of B
    variances  [m, n] variance of each of these means, from the games behind it
    Raises: EngineError unless all leads are finite and all variances are at least 0.
    """
    if (
        leads.ndim != 2
        or not leads.size
        or leads.shape != variances.shape
        or not np.all(np.isfinite(leads))
        or not np.all(variances >= 0)
    ):
        raise EngineError(
            f"leads {leads.shape} with variances {variances.shape}: expected a row per run of A, a "
            "column per run of B, finite leads, and variances of at least 0"
        )
    return _over_runs(leads, float(variances.mean()) / leads.size, 0.0)


def _over_runs(values: NDArray[np.float64], by_games: float, even: float) -> SeedMean:
    """The mean with its interval.

    values    [m, n] by run of A and run of B
    by_games  variance of the mean that the number of games leaves, if runs do not differ
    even      the mean of two equal configurations
    """
    mean = float(values.mean())
    nothing = SeedMean(mean, None, None, None, None, None, even)
    if min(values.shape) < 2:
        return nothing
    spreads = [float(values.mean(axis).std(ddof=1)) for axis in (1, 0)]
    # The variance is at least what the number of games leaves: runs with equal means are still
    # measured by a limited number of games.
    parts = [
        max(spread**2 / runs, by_games / 2)
        for spread, runs in zip(spreads, values.shape, strict=True)
    ]
    if not sum(parts):
        return nothing
    freedom = sum(parts) ** 2 / sum(
        part**2 / (runs - 1) for part, runs in zip(parts, values.shape, strict=True)
    )
    half = float(stdtrit(freedom, 0.975)) * math.sqrt(sum(parts))
    return SeedMean(mean, mean - half, mean + half, spreads[0], spreads[1], float(freedom), even)
