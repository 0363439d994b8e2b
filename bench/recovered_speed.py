"""The speed of a training after faults, relative to undisturbed moments."""

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtrit


@dataclass(frozen=True)
class RowsMade:
    """Rows of experience since the training began, sampled over time.

    times_s  of the samples, ascending
    rows     made up to each sample
    """

    times_s: Sequence[float]
    rows: Sequence[int]

    def at(self, at_s: float) -> float:
        """Rows up to a moment, interpolated between samples.

        Raises: ValueError for a moment before the first sample or after the last one.
        """
        if not self.times_s or not self.times_s[0] <= at_s <= self.times_s[-1]:
            span = (
                f"from {self.times_s[0]:.2f} to {self.times_s[-1]:.2f} s"
                if self.times_s
                else "never"
            )
            raise ValueError(
                f"the rows at {at_s:.2f} s are not known: the training was looked at {span}"
            )
        after = bisect_left(self.times_s, at_s)
        if self.times_s[after] == at_s:
            return float(self.rows[after])
        (t0, t1), (r0, r1) = self.times_s[after - 1 : after + 1], self.rows[after - 1 : after + 1]
        return r0 + (r1 - r0) * (at_s - t0) / (t1 - t0)

    def rate(self, begin_s: float, end_s: float) -> float:
        """Rows a second between two moments."""
        return (self.at(end_s) - self.at(begin_s)) / (end_s - begin_s)


@dataclass(frozen=True)
class Ratio:
    """The ratio of two means.

    value  the ratio
    low    lower end of its interval; minus infinity for too few values
    high   upper end of its interval; plus infinity for too few values
    """

    value: float
    low: float
    high: float


def ratio(above: Sequence[float], below: Sequence[float], confidence: float = 0.95) -> Ratio:
    """The ratio of the means of two independent samples, with its interval.

    The variance is of first order (delta method), the interval by Student's t with Welch's degrees
    of freedom.

    Raises: statistics.StatisticsError for no values, ZeroDivisionError for a mean of 0 below.
    """
    value = statistics.fmean(above) / statistics.fmean(below)
    if min(len(above), len(below)) < 2:
        return Ratio(value, -math.inf, math.inf)
    # Variance of the value, without the factor of the mean below: a part for each sample.
    parts = [
        scale**2 * statistics.variance(values) / len(values)
        for scale, values in ((1.0, above), (value, below))
    ]
    if sum(parts) == 0.0:
        return Ratio(value, value, value)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (above, below), strict=True)
    )
    half = (
        float(stdtrit(freedom, (1 + confidence) / 2))
        * math.sqrt(sum(parts))
        / statistics.fmean(below)
    )
    return Ratio(value, value - half, value + half)
