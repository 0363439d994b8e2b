"""Strengths that order a matrix."""

import numpy as np
import pytest
from scipy.optimize import minimize

from arena.stats.group_results import PairResults
from arena.stats.strengths import strengths_of


def results(seed: int, sides: int = 6) -> PairResults:
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(sides, 1)
    outcomes = rng.integers(0, 9, (len(first), 3)).astype(np.float64)
    units = np.zeros((len(first), 2, 3))
    units[:, 1, 0] = outcomes.sum(1)
    units[:, 1, 1] = rng.normal(0, 3, len(first)) * outcomes.sum(1)
    return PairResults(first, second, outcomes, units)


@pytest.mark.parametrize("seed", range(5))
def test_scores_give_the_most_likely_strengths(seed: int) -> None:
    groups = results(seed)
    points = groups.outcomes[:, 0] + groups.outcomes[:, 1] / 2
    lost = groups.outcomes.sum(1) - points

    def cost(strengths: np.ndarray) -> float:
        apart = strengths[groups.first] - strengths[groups.second]
        virtual = (np.logaddexp(0, strengths) + np.logaddexp(0, -strengths)).sum() / 2
        played = points @ np.logaddexp(0, -apart) + lost @ np.logaddexp(0, apart)
        return float(played + virtual)

    slow = minimize(cost, np.zeros(6), tol=1e-12).x
    assert strengths_of(groups, 6, "win") == pytest.approx(slow, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_margins_give_least_squares(seed: int) -> None:
    groups = results(seed)
    number, total = groups.units[:, 1, 0], groups.units[:, 1, 1]

    def cost(strengths: np.ndarray) -> float:
        apart = strengths[groups.first] - strengths[groups.second]
        return float((number * apart**2 / 2 - total * apart).sum() + (strengths**2).sum() / 2)

    slow = minimize(cost, np.zeros(6), tol=1e-12).x
    assert strengths_of(groups, 6, "margin") == pytest.approx(slow, abs=1e-4)


def test_all_are_ordered_however_few_games_they_have() -> None:
    one = np.array([0]), np.array([1])
    won = np.array([[1e6, 0, 0]])
    found = strengths_of(PairResults(*one, won, np.zeros((1, 2, 3))), 3, "win")
    assert found[0] > 0 == found[2] > found[1] and np.isfinite(found).all()
    assert (
        len(
            strengths_of(
                PairResults(*np.zeros((2, 0), int), np.zeros((0, 3)), np.zeros((0, 2, 3))), 0, "win"
            )
        )
        == 0
    )
    returned = np.zeros((1, 2, 3))
    returned[0, 1] = 4, 10, 30
    assert strengths_of(PairResults(*one, won, returned), 2, "return").tolist() == [2.5, -np.inf]
