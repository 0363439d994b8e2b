"""The sequential test on margins: its ratio against an optimiser, its edges, how often it errs."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from arena.stats.normalised_elo import NORMALISED_ELO
from arena.stats.sprt import SequentialTest, Sprt, log_likelihood_ratio, margin_likelihood_ratio

RUNS = 3000


def sums(margins: Sequence[float]) -> list[float]:
    return [float(len(margins)), float(np.sum(margins)), float(np.sum(np.square(margins)))]


def slow_llr(margins: Sequence[float], elo0: float, elo1: float, games: int) -> float:
    """Normal likelihoods of both means, each with its variance found by a general optimiser."""
    own = np.array(margins)

    def best(elo: float) -> float:
        mean = elo / NORMALISED_ELO * math.sqrt(games) * own.std()

        def lost(logarithm: float) -> float:
            sigma = math.exp(logarithm)
            return float(len(own) * logarithm + np.sum((own - mean) ** 2) / (2 * sigma**2))

        bounds = (math.log(own.std()) - 3, math.log(own.std()) + 5)
        found = minimize_scalar(lost, bounds=bounds, method="bounded", options={"xatol": 1e-10})
        return -float(found.fun)

    return best(elo1) - best(elo0)


@pytest.mark.parametrize("games", [1, 2])
@pytest.mark.parametrize("window", [(0.0, 20.0), (-50.0, 50.0), (100.0, 700.0)])
def test_the_ratio_is_that_of_a_general_optimiser(window: tuple[float, float], games: int) -> None:
    for seed in range(10):
        margins = (5 + 3 * np.random.default_rng(seed).normal(size=40)).tolist()
        found = float(margin_likelihood_ratio(sums(margins), *window, games))
        assert found == pytest.approx(slow_llr(margins, *window, games), abs=1e-6)


def test_points_taken_as_margins_give_almost_the_ratio_of_points() -> None:
    """For weak effects the normal likelihood is that of the points."""
    counts = (300, 1200, 2000, 1400, 380)
    points = np.repeat(np.linspace(-0.5, 0.5, 5), counts)
    by_points = float(log_likelihood_ratio(counts, 0, 20))
    by_margin = float(margin_likelihood_ratio(sums(points.tolist()), 0, 20, 2))
    assert by_margin == pytest.approx(by_points, abs=0.02)
    assert by_points > 1


def test_the_unit_of_the_margin_and_the_side_do_not_matter() -> None:
    margins = np.random.default_rng(3).normal(0.2, 1.0, size=30)
    ratio = float(margin_likelihood_ratio(sums(margins.tolist()), 0, 40, 2))
    scaled = float(margin_likelihood_ratio(sums((1000 * margins).tolist()), 0, 40, 2))
    mirrored = float(margin_likelihood_ratio(sums((-margins).tolist()), -40, 0, 2))
    assert (scaled, -mirrored) == pytest.approx((ratio, ratio))


def test_margins_that_never_vary_decide_nothing() -> None:
    assert float(margin_likelihood_ratio([0.0, 0.0, 0.0], 0, 40, 2)) == 0.0
    assert float(margin_likelihood_ratio(sums([0.1] * 500), 0, 40, 2)) == 0.0
    test = SequentialTest(Sprt(0, 40, model="margin"), 2)
    test.look([3.0] * 500)
    assert (test.looked_at, test.llr, test.state) == (500, 0.0, "continue")


def test_one_test_takes_either_kind_of_result_up_to_the_one_that_decides() -> None:
    margins = np.random.default_rng(4).normal(0.5, 1.0, size=300).tolist()
    for sprt, results in (
        (Sprt(0, 100, model="margin"), margins),
        (Sprt(0, 100), [round(min(2.0, max(0.0, 1 + one)) * 2) / 2 for one in margins]),
    ):
        at_once, one_by_one = SequentialTest(sprt, 2), SequentialTest(sprt, 2)
        at_once.look(results)
        for result in results:
            one_by_one.look([result])
        assert at_once.state == one_by_one.state == "accept H1"
        assert 0 < at_once.looked_at == one_by_one.looked_at < 300
        assert at_once.llr == pytest.approx(one_by_one.llr)
        assert at_once.sums == pytest.approx(one_by_one.sums)
        before = SequentialTest(sprt, 2)
        before.look(results[: at_once.looked_at - 1])
        assert before.state == "continue"


def accepted(test: Sprt, nelo: float, skewed: bool, seed: int) -> float:
    """Fraction of runs that accept H1."""
    rng = np.random.default_rng(seed)
    mean = math.sqrt(2) * nelo / NORMALISED_ELO
    seen, open_runs = np.zeros((RUNS, 3)), np.arange(RUNS)
    won = np.zeros(RUNS, dtype=bool)
    while len(open_runs):
        number = len(open_runs)
        margin: NDArray[np.float64] = mean + (
            rng.exponential(size=number) - 1 if skewed else rng.normal(size=number)
        )
        seen[open_runs] += np.stack([np.ones(number), margin, margin**2], axis=1)
        llr = margin_likelihood_ratio(seen[open_runs], test.elo0, test.elo1, 2)
        won[open_runs] = llr >= test.upper
        open_runs = open_runs[(llr < test.upper) & (llr > test.lower)]
    return float(won.mean())


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("elo1", [30.0, 100.0])
def test_it_errs_at_most_as_often_as_it_says(elo1: float, skewed: bool) -> None:
    """3000 matches on either hypothesis, the margins normal or exponential."""
    test = Sprt(0, elo1, model="margin")
    false_alarms = accepted(test, 0.0, skewed, 7)
    found = accepted(test, elo1, skewed, 8)
    print(f"[0, {elo1}], skewed {skewed}: {false_alarms}, {1 - found}")
    assert false_alarms <= 0.055
    assert 1 - found <= 0.055
