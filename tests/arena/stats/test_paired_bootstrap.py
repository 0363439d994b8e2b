"""Differences and ratios over paired seeds: their values, intervals and how often those hold."""

import numpy as np
import pytest

from arena.stats.paired_bootstrap import paired_difference, paired_ratio
from pbt.errors import EngineError


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_values_are_those_of_the_means() -> None:
    a, b = [10.0, 20.0, 60.0], [5.0, 10.0, 15.0]
    assert paired_difference(a, b, rng()).value == pytest.approx(20.0)
    assert paired_ratio(a, b, rng()).value == pytest.approx(1 / 3)
    assert paired_difference(a, b, rng()).even == 0.0 and paired_ratio(a, b, rng()).even == 1.0


def test_pairs_stay_together() -> None:
    """Seeds that are hard for both spread the values, and not the differences."""
    b = [0.0, 100.0, 300.0, 500.0, 900.0]
    a = [value + lead for value, lead in zip(b, (9.0, 10.0, 11.0, 10.0, 12.0), strict=True)]
    found = paired_difference(a, b, rng())
    assert found.low is not None and found.high is not None
    assert 8.0 < found.low < 10.4 < found.high < 13.0 and found.verdict == "better"
    turned = paired_difference(b, a, rng())
    assert turned.verdict == "worse" and turned.high is not None and turned.high < 0


def test_a_slow_reference_gives_the_same_interval() -> None:
    a, b = [3.0, 1.0, 4.0, 1.5, 5.0, 9.0], [2.0, 7.0, 1.0, 8.0, 2.5, 8.0]
    found, other = paired_difference(a, b, rng()), rng(1)
    means = []
    for _ in range(10_000):
        drawn = other.integers(6, size=6)
        means.append(sum(a[one] - b[one] for one in drawn) / 6)
    # t with 5 degrees of freedom has its 2.5 % at -2.5706, times the root of 6/5: -2.816.
    low, high = np.quantile(means, [0.00243, 0.99757])
    assert found.low == pytest.approx(low, abs=0.25) and found.high == pytest.approx(high, abs=0.25)


def test_one_pair_and_pairs_alike_have_no_interval() -> None:
    for a, b in (([5.0], [3.0]), ([5.0, 6.0], [3.0, 4.0])):
        found = paired_difference(a, b, rng())
        assert (found.value, found.low, found.high) == (2.0, None, None)
        assert found.verdict == "undecided"


@pytest.mark.parametrize("seeds", [5, 10])
def test_intervals_hold_the_truth_about_as_often_as_they_say(seeds: int) -> None:
    draws, held = rng(3), 0
    for _ in range(400):
        shared = draws.normal(0, 5, seeds)
        a, b = shared + draws.normal(1, 1, seeds), shared + draws.normal(0, 1, seeds)
        found = paired_difference(a.tolist(), b.tolist(), draws, resamples=1000)
        assert found.low is not None and found.high is not None
        held += found.low <= 1.0 <= found.high
    assert held / 400 > 0.9


def test_ratios_of_times() -> None:
    found = paired_ratio([10.0, 12.0, 11.0, 9.0], [20.0, 26.0, 21.0, 17.0], rng())
    assert found.value == 2.0 and found.verdict == "better"
    assert found.low is not None and 1.5 < found.low < 2.0


@pytest.mark.parametrize(("a", "b"), [([], []), ([1.0], [1.0, 2.0]), ([float("nan")], [1.0])])
def test_other_values_are_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(EngineError, match="for every seed"):
        paired_difference(a, b, rng())
    with pytest.raises(EngineError, match="more than 0"):
        paired_ratio([0.0], [1.0], rng())
