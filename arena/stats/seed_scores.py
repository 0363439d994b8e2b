"""Comparison of two ways to train, from games of every run of one against every run of the other.

The training seed is the unit of evidence. More games between the same two runs say nothing about
the next run, so the interval comes from how the mean scores of the runs vary. With rows r_i (a run
of A against all runs of B) and columns c_j, the variance of the mean is var(r) / m + var(c) / n,
and the interval is Student's t with Satterthwaite's degrees of freedom. The variance that belongs
to a pair of runs alone is in both terms, so the interval is slightly too wide (simulated in the
tests).
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from pbt.errors import EngineError

Verdict = Literal["better", "worse", "undecided"]


@dataclass(frozen=True, slots=True)
class SeedScore:
    """The score of A with its 95 % interval over training runs.

    With a single run on either side, the spread of runs is unknown; all but the score is None then.

    score     mean score of A, in [0, 1]
    low       lower end of the interval
    high      upper end of the interval
    spread_a  standard deviation of the mean scores of A's runs
    spread_b  standard deviation of the mean scores of B's runs
    freedom   degrees of freedom of t
    """

    score: float
    low: float | None
    high: float | None
    spread_a: float | None
    spread_b: float | None
    freedom: float | None

    @property
    def verdict(self) -> Verdict:
        """Whether A is better, with 95 % confidence."""
        if self.low is None or self.high is None:
            return "undecided"
        return "better" if self.low > 0.5 else "worse" if self.high < 0.5 else "undecided"


def seed_score(scores: NDArray[np.float64], games: int) -> SeedScore:
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
    mean = float(scores.mean())
    if min(scores.shape) < 2:
        return SeedScore(mean, None, None, None, None, None)
    spreads = [float(scores.mean(axis).std(ddof=1)) for axis in (1, 0)]
    # The variance is at least what the number of games leaves: runs with equal scores are still
    # measured by a limited number of games.
    total = games * scores.size
    shrunk = (mean * total + 1) / (total + 2)
    least = shrunk * (1 - shrunk) / total / 2
    parts = [
        max(spread**2 / runs, least) for spread, runs in zip(spreads, scores.shape, strict=True)
    ]
    freedom = sum(parts) ** 2 / sum(
        part**2 / (runs - 1) for part, runs in zip(parts, scores.shape, strict=True)
    )
    half = float(stdtrit(freedom, 0.975)) * math.sqrt(sum(parts))
    return SeedScore(
        mean, max(0.0, mean - half), min(1.0, mean + half), spreads[0], spreads[1], float(freedom)
    )
