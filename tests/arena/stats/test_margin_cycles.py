"""Margins between every two players, and circles in them."""

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from arena.stats.margin_cycles import PairMargin, margin_cycles, pair_margins
from arena.stats.margin_units import MarginResult

CIRCLE = (("a", "b"), ("b", "c"), ("c", "a"))


def result(a: str, b: str, units: list[float]) -> MarginResult[str]:
    return MarginResult(a, b, len(units), sum(units), sum(unit**2 for unit in units))


def drawn(mean: float, rng: np.random.Generator, number: int = 40) -> list[float]:
    return (mean + rng.normal(0, 1, number)).tolist()


def test_a_single_pair_has_the_interval_and_the_test_of_student() -> None:
    for seed in range(20):
        units = drawn(0.2, np.random.default_rng(seed), 12)
        (found,) = pair_margins([result("a", "b", units)])
        error = float(np.std(units, ddof=1)) / 12**0.5
        ends = (found.mean - t.ppf(0.975, 11) * error, found.mean + t.ppf(0.975, 11) * error)
        assert (found.low, found.high) == pytest.approx(ends)
        assert found.ps == pytest.approx(
            [ttest_1samp(units, 0, alternative=one).pvalue for one in ("greater", "less")]
        )
        back = found.turned()
        assert (back.a, back.b, back.mean, back.ps) == ("b", "a", -found.mean, found.ps[::-1])
        assert (back.low, back.high) == pytest.approx((-ends[1], -ends[0]))


def test_few_units_of_a_pair_take_their_variance_from_all_pairs() -> None:
    rng = np.random.default_rng(2)
    many = result("a", "b", drawn(0.0, rng, 400))
    found = pair_margins([many, result("a", "c", [2.0, 2.0])])[1]
    assert found.low is not None and found.low == pytest.approx(2.0 - 1.96 / 2**0.5, abs=0.1)


def test_margins_that_go_round_are_a_circle_and_ratings_are_none() -> None:
    rng = np.random.default_rng(1)
    pairs = pair_margins([result(a, b, drawn(1.0, rng)) for a, b in CIRCLE])
    (cycle,) = margin_cycles("abc", pairs)
    assert (cycle.a, cycle.b, cycle.c) == ("a", "b", "c") and cycle.p < 1e-3
    turned = [one.turned() for one in pairs]
    assert margin_cycles("abc", turned) == [cycle]
    along = [result(a, b, drawn(1.0, rng)) for a, b in (("a", "b"), ("b", "c"), ("a", "c"))]
    assert margin_cycles("abc", pair_margins(along)) == []


def test_equal_players_make_a_circle_less_often_than_the_level() -> None:
    rng, found = np.random.default_rng(3), 0
    for _ in range(300):
        pairs = [result(a, b, drawn(0.0, rng, 10)) for a, b in CIRCLE]
        found += bool(margin_cycles("abc", pair_margins(pairs), level=0.2))
    assert found <= 300 * 0.2 * 0.2


def test_margins_that_never_vary_are_counted_as_tosses() -> None:
    pairs = pair_margins([result(a, b, [2.0] * 20) for a, b in CIRCLE])
    assert pairs[0] == PairMargin("a", "b", 20, 2.0, None, None, (0.5**20, 1.0))
    assert len(margin_cycles("abc", pairs)) == 1
    assert margin_cycles("abc", pair_margins([result(a, b, [2.0] * 3) for a, b in CIRCLE])) == []
    level = pair_margins([result("a", "b", [0.0] * 20)])
    assert level[0].ps == (1.0, 1.0)
    assert pair_margins([]) == []
