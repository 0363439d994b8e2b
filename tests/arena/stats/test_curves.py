"""Shrinkage along curves against plain multivariate normal formulas."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from arena.stats.curves import shrink_along_curves, tree_covariance
from pbt.errors import EngineError

Floats = NDArray[np.float64]
# Two members of four snapshots; the second copies the first one's second snapshot.
PARENTS = (None, 0, 1, 2, None, 4, 1, 6)
DISTANCES = (0.0, 1.0, 2.0, 1.0, 0.0, 1.5, 0.5, 3.0)


def path(i: int) -> list[int]:
    """The snapshots from i back to its root, whose steps make up its walk."""
    parent = PARENTS[i]
    return [] if parent is None else [i, *path(parent)]


def some_covariance(rng: np.random.Generator, number: int) -> Floats:
    root = rng.normal(size=(number, number))
    return root @ root.T / number + 0.2 * np.eye(number)


def test_walks_share_what_their_ways_share() -> None:
    walks, trees = tree_covariance(PARENTS, DISTANCES)
    for i in range(8):
        for j in range(8):
            assert walks[i, j] == sum(DISTANCES[k] for k in set(path(i)) & set(path(j)))
    assert trees.tolist() == [[1, 0]] * 4 + [[0, 1]] * 2 + [[1, 0]] * 2


def flat_prior(drift: float) -> Floats:
    """Covariance of the strengths beforehand: very wide levels, then the walks."""
    walks, trees = tree_covariance(PARENTS, DISTANCES)
    return 1e6 * trees @ trees.T + drift**2 * walks


@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_posterior_of_a_wide_prior(seed: int) -> None:
    rng = np.random.default_rng(seed)
    covariance = some_covariance(rng, 8)
    values = 5 * rng.normal(size=8)
    found = shrink_along_curves(values, covariance, PARENTS, DISTANCES)
    prior = flat_prior(found.drift)
    gain = prior @ np.linalg.inv(prior + covariance)
    assert found.values == pytest.approx(gain @ values, abs=1e-3)
    assert found.covariance == pytest.approx(prior - gain @ prior, abs=1e-3)


@pytest.mark.parametrize("seed", range(10))
def test_the_drift_is_the_likeliest(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    covariance = some_covariance(rng, 8)
    steps = rng.normal(size=8) * np.sqrt(DISTANCES) * 1.5
    values = np.array([sum(steps[k] for k in path(i)) for i in range(8)])
    values = values + np.linalg.cholesky(covariance) @ rng.normal(size=8)

    def likelihood(drift: float) -> float:
        v = flat_prior(drift) + covariance
        return -0.5 * float(np.linalg.slogdet(v)[1] + values @ np.linalg.solve(v, values))

    found = shrink_along_curves(values, covariance, PARENTS, DISTANCES).drift
    best = max(likelihood(one) for one in [0.0, *np.geomspace(1e-3, 1e3, 2000)])
    assert likelihood(found) == pytest.approx(best, abs=1e-3)


def test_equal_snapshots_share_their_games_and_noise_moves_the_best_less() -> None:
    """100 equal snapshots on one curve: the greatest of the ratings is high, the shrunk one not."""
    parents = [None, *range(99)]
    distances = [0.0, *[1.0] * 99]
    raw, shrunk = [], []
    for seed in range(40):
        values = np.random.default_rng([seed, 6]).normal(size=100)
        found = shrink_along_curves(values, np.eye(100), parents, distances)
        raw.append(values.max())
        shrunk.append(found.values.max())
        assert np.all(np.diag(found.covariance) < 1.0)
    assert np.mean(raw) > 2.3
    assert np.mean(shrunk) < 0.5


def test_a_copy_leans_on_the_one_that_it_copied() -> None:
    """The copy has no games of its own worth the name, and its parent's rating speaks for it."""
    covariance = np.diag([1.0, 1.0, 1.0, 1e6])
    found = shrink_along_curves(
        np.array([0.0, 10.0, 20.0, -500.0]), covariance, [None, 0, 1, 1], [0.0, 1.0, 1.0, 0.01]
    )
    assert found.values[3] == pytest.approx(found.values[1], abs=1.0)
    assert found.covariance[3, 3] < 5


def test_snapshots_of_their_own_stay_as_they_are() -> None:
    values, covariance = np.array([3.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
    found = shrink_along_curves(values, covariance, [None, None], [0.0, 0.0])
    assert found.drift == 0.0
    assert found.values == pytest.approx(values)
    assert found.covariance == pytest.approx(covariance)


@pytest.mark.parametrize(
    ("parents", "distances", "words"),
    [
        ([None, 1], [0.0, 1.0], "snapshot 1: parent 1"),
        ([None, 0], [0.0, -1.0], "distance -1"),
        ([None, 0], [0.0, math.nan], "distance nan"),
    ],
)
def test_what_is_no_tree_is_refused(
    parents: list[int | None], distances: list[float], words: str
) -> None:
    with pytest.raises(EngineError, match=words):
        shrink_along_curves(np.zeros(2), np.eye(2), parents, distances)


def test_a_singular_covariance_is_refused() -> None:
    with pytest.raises(EngineError, match="leave out the anchor"):
        shrink_along_curves(np.zeros(2), np.diag([1.0, 0.0]), [None, 0], [0.0, 1.0])
