"""What two ways to train are worth against each other, pure: every training run of one met every
run of the other, and seeds are the evidence.

Games between two given runs can be had in any number and say nothing of the next run; so the
interval comes from how the runs' mean scores spread. With rows r_i (a run of A against all of B)
and columns c_j the variance of the mean is var(r) / m + var(c) / n, Student's t with
Satterthwaite's degrees of freedom. What belongs to a pair of runs alone is in both terms, so the
interval is rather too wide (simulated in the tests).
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
    """score: of A, in [0, 1];  low, high: 95 %, None with a single run on either side, whose spread
    nobody knows

    spread_a, spread_b  standard deviation of the runs' mean scores, None likewise;  freedom:
                        degrees of freedom of t
    """

    score: float
    low: float | None
    high: float | None
    spread_a: float | None
    spread_b: float | None
    freedom: float | None

    @property
    def verdict(self) -> Verdict:
        """Of A, as far as 95 % allow."""
        if self.low is None or self.high is None:
            return "undecided"
        return "better" if self.low > 0.5 else "worse" if self.high < 0.5 else "undecided"


def seed_score(scores: NDArray[np.float64], games: int) -> SeedScore:
    """scores: [m, n] of run i of A against run j of B;  games: how many each of them rests on.
    Raises: EngineError unless all are in [0, 1].
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
    # Never less than the games alone would leave: runs that all agree are still known from so many
    # games only.
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
