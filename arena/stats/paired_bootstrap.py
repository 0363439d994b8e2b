"""What A has over B where both were trained with the same seeds, by bootstrap over the pairs.

A seed is the unit of evidence, and both of its runs are resampled together. The ends are quantiles
of the resampled effects. They are moved outwards as far as Student's t is wider than the normal
distribution (Hesterberg 2015, "expanded percentile"), since drawing from n pairs makes the variance
of a mean too small by (n - 1) / n.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from pbt.errors import EngineError

RESAMPLES = 10_000
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairedEffect:
    """A difference or a ratio, of which more is better for A.

    value  of all pairs
    low    lower end of the 95 % interval; None with one pair, and where all pairs are alike
    high   upper end of it
    even   what equal configurations have
    """

    value: float
    low: float | None
    high: float | None
    even: float

    @property
    def verdict(self) -> Literal["better", "worse", "undecided"]:
        """Whether A is better, with 95 % confidence."""
        if self.low is None or self.high is None:
            return "undecided"
        return (
            "better" if self.low > self.even else "worse" if self.high < self.even else "undecided"
        )


def paired_difference(
    a: Sequence[float], b: Sequence[float], rng: np.random.Generator, resamples: int = RESAMPLES
) -> PairedEffect:
    """The mean of A's values minus that of B's.

    a, b  by seed
    Raises: EngineError unless there are equally many, at least one, all finite.
    """
    own, other = _checked(a, b)
    return _effect(own, other, lambda one, two: one - two, 0.0, rng, resamples)


def paired_ratio(
    a: Sequence[float], b: Sequence[float], rng: np.random.Generator, resamples: int = RESAMPLES
) -> PairedEffect:
    """The mean of B's values over that of A's: how many times as fast A is, where they are times.

    a, b  by seed, above 0
    Raises: EngineError as `paired_difference`, and for a value that is not above 0.
    """
    own, other = _checked(a, b)
    if not (np.all(own > 0) and np.all(other > 0)):
        raise EngineError(f"times {own.tolist()} and {other.tolist()}: expected more than 0")
    return _effect(own, other, lambda one, two: two / one, 1.0, rng, resamples)


def _checked(a: Sequence[float], b: Sequence[float]) -> tuple[Floats, Floats]:
    own, other = np.array(a, np.float64), np.array(b, np.float64)
    if own.shape != other.shape or not own.size or not np.isfinite([own, other]).all():
        raise EngineError(
            f"{len(a)} and {len(b)} values: expected a finite one of each for every seed"
        )
    return own, other


def _effect(
    a: Floats,
    b: Floats,
    of_means: Callable[[Floats, Floats], Floats],
    even: float,
    rng: np.random.Generator,
    resamples: int,
) -> PairedEffect:
    value, pairs = float(of_means(a.mean(), b.mean())), len(a)
    single = of_means(a, b)
    if pairs < 2 or np.ptp(single) <= 1e-12 * max(1.0, float(np.abs(single).max())):
        return PairedEffect(value, None, None, even)
    times = rng.multinomial(pairs, np.full(pairs, 1 / pairs), size=resamples) / pairs
    tail = float(ndtr(stdtrit(pairs - 1, 0.025) * math.sqrt(pairs / (pairs - 1))))
    low, high = np.quantile(of_means(times @ a, times @ b), [tail, 1 - tail])
    return PairedEffect(value, min(float(low), value), max(float(high), value), even)
