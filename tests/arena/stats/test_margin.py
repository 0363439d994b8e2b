"""A match by margin: its interval against slow twins, its edges, and how often it covers."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import skew, t

from arena.stats.anytime import margin_sequence
from arena.stats.intervals import mean_interval
from arena.stats.margin import margin_interval, margin_statistics
from arena.stats.sprt import Sprt
from pbt.errors import EngineError

MATCHES = 3000


def skewed(number: int, seed: int) -> list[float]:
    return np.random.default_rng(seed).exponential(size=number).tolist()


@pytest.mark.parametrize("number", [5, 20, 200])
def test_its_ends_are_those_of_the_transformed_t(number: int) -> None:
    """The transformation is inverted by bisection instead of by formula."""
    values = skewed(number, number)
    error = np.std(values, ddof=1) / math.sqrt(number)
    g = float(skew(values)) / math.sqrt(number)

    def transformed(x: float) -> float:
        return float(x + g / 3 * x**2 + g**2 / 27 * x**3 + g / 6)

    ends = [
        np.mean(values)
        - error * brentq(lambda x, q=q: transformed(x) - t.ppf(q, number - 1), -90, 90)
        for q in (0.975, 0.025)
    ]
    assert margin_interval(values) == pytest.approx(ends)


def test_without_skewness_it_is_the_interval_of_t() -> None:
    values = [*skewed(20, 1)]
    both = [*values, *(-one for one in values)]
    assert margin_interval(both) == pytest.approx(mean_interval(both))


def test_the_statistics_of_some_margins() -> None:
    values = [2.0, -1.0, 3.0, 0.5, 1.5, 2.5]
    found = margin_statistics(values)
    assert found.low is not None and found.high is not None
    assert (found.units, found.mean, found.interval) == (6, pytest.approx(8.5 / 6), "skewed t")
    assert (found.low, found.high) == margin_interval(values)
    assert found.deviation == pytest.approx(np.std(values, ddof=1))
    assert found.los == pytest.approx(
        t.cdf(np.mean(values) / np.std(values, ddof=1) * math.sqrt(6), 5)
    )
    mirrored = margin_statistics([-one for one in values])
    assert (mirrored.mean, mirrored.low, mirrored.high, mirrored.los) == pytest.approx(
        (-found.mean, -found.high, -found.low, 1 - found.los)
    )


def test_the_verdict_goes_by_the_interval() -> None:
    noise = np.random.default_rng(2).normal(size=40)
    assert margin_statistics((noise + 2).tolist()).verdict == "A is stronger"
    assert margin_statistics((noise - 2).tolist()).verdict == "B is stronger"
    assert margin_statistics((noise - noise.mean()).tolist()).verdict == "not decided"


def test_margins_that_do_not_vary_have_no_interval() -> None:
    one, alike, even = (margin_statistics(values) for values in ([4.0], [4.0] * 9, [0.0] * 9))
    assert (one.low, one.deviation, one.los, one.verdict) == (None, None, 0.5, "not decided")
    assert (alike.low, alike.deviation, alike.los, alike.mean) == (None, 0.0, 1.0, 4.0)
    assert (even.los, even.verdict) == (0.5, "not decided")
    with pytest.raises(EngineError, match="at least one, and finite"):
        margin_statistics([])
    with pytest.raises(EngineError, match="at least one, and finite"):
        margin_statistics([1.0, math.inf])


def test_with_a_test_the_interval_is_a_confidence_sequence() -> None:
    values, test = skewed(60, 3), Sprt(0, 50, model="margin")
    found, fixed = margin_statistics(values, test), margin_statistics(values)
    ends = margin_sequence(60, float(np.mean(values)), float(np.std(values)), test.window(2))
    assert (found.low, found.high) == ends
    assert found.interval == "sequence"
    assert found.low is not None and fixed.low is not None and found.low < fixed.low
    assert found.los is None and fixed.los is not None
    few = margin_statistics([1.0, 2.0], test)
    assert (few.low, few.high, few.interval, few.verdict) == (None, None, "sequence", "not decided")


def drawn(law: str, number: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], float]:
    """(margins, [matches, number]; the true mean)."""
    shape = MATCHES, number
    if law == "normal":
        return rng.normal(size=shape), 0.0
    if law == "exponential":
        return rng.exponential(size=shape), 1.0
    # A small gain in most units and now and then a loss of a pot.
    outcomes, chances = np.array([1.0, -3.0, 5.0, -7.0]), np.array([0.7, 0.22, 0.05, 0.03])
    return rng.choice(outcomes, size=shape, p=chances), float(outcomes @ chances)


@pytest.mark.parametrize("law", ["normal", "exponential", "pots"])
@pytest.mark.parametrize("number", [20, 50, 200])
def test_it_covers_skewed_margins_where_t_does_not(law: str, number: int) -> None:
    values, truth = drawn(law, number, np.random.default_rng([number, 4]))
    held = plain = 0
    for row in values.tolist():
        if len(set(row)) < 2:
            continue
        low, high = margin_interval(row)
        held += low <= truth <= high
        ends = mean_interval(row)
        plain += ends is not None and ends[0] <= truth <= ends[1]
    print(f"{number} units, {law}: {100 * held / MATCHES:.1f} %, t {100 * plain / MATCHES:.1f} %")
    assert 0.935 <= held / MATCHES <= 0.965
    if (law, number) == ("exponential", 20):
        assert plain / MATCHES < 0.93
