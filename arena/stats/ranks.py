"""Ranks of numbers, of which some may be equal."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def rank_span(values: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The best and the worst rank of each value among all, from 1 for the least.

    values: [n]. Equal values share the ranks from best to worst; of a value without an equal one
    the two are the same. As `scipy.stats.rankdata` with "min" and "max", whose package takes most
    of a second to import.
    """
    given = np.asarray(values)
    ordered = np.sort(given)
    return np.searchsorted(ordered, given, "left") + 1, np.searchsorted(ordered, given, "right")


def mid_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """[n] The mean of the best and the worst rank of each value."""
    best, worst = rank_span(values)
    return (best + worst) / 2
