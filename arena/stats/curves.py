"""Ratings shrunk along the curves of members, where no fresh games were played.

The strength of a member is a random walk over its training, theta(t + d) ~ N(theta(t), w^2 d), so
the snapshots beside a snapshot say something about it too. A copy branches: the walks of a
population are trees. w follows from the ratings by empirical Bayes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.optimize import minimize_scalar

from pbt.errors import EngineError

Floats = NDArray[np.float64]
_GRID = 40


@dataclass(frozen=True, slots=True)
class ShrunkCurves:
    """Posterior of the strengths of snapshots.

    values      [k] posterior means, in the unit of the ratings
    covariance  [k, k] posterior covariance
    drift       w: standard deviation of what strength changes by in one unit of distance; 0 where
                the ratings show no change
    """

    values: Floats
    covariance: Floats
    drift: float


def shrink_along_curves(
    values: Floats,
    covariance: Floats,
    parents: Sequence[int | None],
    distances: Sequence[float],
) -> ShrunkCurves:
    """The strengths of snapshots, given their ratings and the walks between them.

    values      [k] ratings
    covariance  [k, k] their covariance, positive definite (leave the anchor out)
    parents     [k] index of the snapshot from which a snapshot was trained on, below its own; None
                for the first of a tree, of whose strength nothing is known beforehand
    distances   [k] training between the two, such as millions of frames; of no meaning for the
                first of a tree
    Raises: EngineError on other parents, negative distances, and a covariance that is not positive
    definite.

    In the coordinates in which the ratings have the covariance I and the walks w^2 diag(t), all is
    diagonal. w has the greatest restricted likelihood, -1/2 (sum log v + log |Z' V^-1 Z| +
    sum r^2 / v) with v = 1 + w^2 t, Z the trees, r the residuals of the generalised least squares
    of the levels of the trees. The posterior is that of universal kriging.
    """
    walks, trees = tree_covariance(parents, distances)
    try:
        root = cholesky(covariance, lower=True)
    except np.linalg.LinAlgError:
        raise EngineError(
            f"covariance of {len(values)} ratings: expected a positive definite matrix; leave out "
            "the anchor, and of equal players all but one"
        ) from None
    half = solve_triangular(root, walks, lower=True)
    spread, turn = eigh(solve_triangular(root, half.T, lower=True))
    turned = turn.T @ solve_triangular(root, np.column_stack([values, trees]), lower=True)
    model = _Model(turned[:, 0], turned[:, 1:], np.maximum(spread, 0.0))
    drift = _likeliest_drift(model)
    mean, doubt = model.posterior(drift)
    back = root @ turn
    return ShrunkCurves(back @ mean, back @ doubt @ back.T, drift)


def tree_covariance(
    parents: Sequence[int | None], distances: Sequence[float]
) -> tuple[Floats, Floats]:
    """(covariance of walks that start at 0, [k, k]; whether a snapshot is in a tree, [k, trees]).

    For w = 1: the covariance of two snapshots is the distance from the root to where their ways
    part. Raises: EngineError as `shrink_along_curves`.
    """
    number = len(parents)
    walks, tree = np.zeros((number, number)), np.zeros(number, dtype=np.intp)
    trees = 0
    for i, (parent, distance) in enumerate(zip(parents, distances, strict=True)):
        if parent is None:
            tree[i], trees = trees, trees + 1
            continue
        if not (0 <= parent < i and 0 <= distance < math.inf):
            raise EngineError(
                f"snapshot {i}: parent {parent} at distance {distance}; expected the index of an "
                "earlier snapshot, and a finite distance of at least 0"
            )
        tree[i] = tree[parent]
        walks[i, :i] = walks[:i, i] = walks[parent, :i]
        walks[i, i] = walks[parent, parent] + distance
    return walks, np.eye(trees)[tree]


@dataclass(frozen=True, slots=True)
class _Model:
    """Ratings in coordinates in which all is diagonal.

    values  [k] the ratings
    trees   [k, trees] the trees
    spread  [k] variances of the walks for w = 1
    """

    values: Floats
    trees: Floats
    spread: Floats

    def levels(self, drift: float) -> tuple[Floats, Floats]:
        """(levels of the trees, [trees]; their covariance, [trees, trees])."""
        weighted = self.trees / (1 + drift**2 * self.spread)[:, None]
        covariance: Floats = np.asarray(np.linalg.inv(weighted.T @ self.trees), dtype=np.float64)
        levels: Floats = covariance @ (weighted.T @ self.values)
        return levels, covariance

    def likelihood(self, drift: float) -> float:
        variance = 1 + drift**2 * self.spread
        levels, covariance = self.levels(drift)
        residual = self.values - self.trees @ levels
        logarithms = np.log(variance).sum() - np.linalg.slogdet(covariance)[1]
        return -0.5 * float(logarithms + residual**2 @ (1 / variance))

    def posterior(self, drift: float) -> tuple[Floats, Floats]:
        """(mean, [k]; covariance, [k, k])."""
        levels, covariance = self.levels(drift)
        gain = drift**2 * self.spread / (1 + drift**2 * self.spread)
        expected = self.trees @ levels
        rest = (1 - gain)[:, None] * self.trees
        return expected + gain * (self.values - expected), np.diag(
            gain
        ) + rest @ covariance @ rest.T


def _likeliest_drift(model: _Model) -> float:
    """w of the greatest restricted likelihood, at least 0."""
    moving = model.spread[model.spread > 1e-12 * max(1e-300, float(model.spread.max(initial=0.0)))]
    if not len(moving):
        return 0.0
    grid = np.log(
        np.geomspace(1e-3 / math.sqrt(moving.max()), 1e3 / math.sqrt(moving.min()), _GRID)
    )
    likelihoods = [model.likelihood(math.exp(one)) for one in grid]
    best = int(np.argmax(likelihoods))
    found = minimize_scalar(
        lambda logarithm: -model.likelihood(math.exp(logarithm)),
        bounds=(grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]),
        method="bounded",
        options={"xatol": 1e-8},
    )
    return math.exp(float(found.x)) if -found.fun > model.likelihood(0.0) else 0.0
