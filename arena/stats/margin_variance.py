"""The variance of mean margins that the difference of two ratings cannot explain.

A pair of players i, j has the mean margin mean_ij = theta_i - theta_j + u_ij + e_ij. e_ij is noise
of the games (`arena.stats.margin_units`). u_ij is how the two suit each other, u ~ N(0, tau^2).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar

from arena.stats.margin_units import Floats, MeanMargins

_GRID, _ROUNDING = 12, 1e-12
# Of log-likelihoods; the search for a maximum at 0 ends a little above it, by rounding.
_LEAST_GAIN = 1e-6


@dataclass(frozen=True, slots=True)
class Met:
    """Pairs of players that met.

    first    [pairs] indices of players
    second   [pairs] indices of their opponents
    margins  [pairs] their mean margins, from the first's side
    players  number of players; each is in a pair, and the pairs connect all of them
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    margins: MeanMargins
    players: int

    @property
    def mean(self) -> Floats:
        """[pairs] the mean margins."""
        return self.margins.mean

    @property
    def freedom(self) -> int:
        """How many pairs met beyond those that make a tree of the players."""
        return len(self.mean) - self.players + 1

    def laplacian(self, weight: Floats) -> Floats:
        """[players, players] X' W X of the differences between players, with these weights."""
        flat = self._summed(self.first * self.players + self.second, weight, self.players**2)
        one_way = flat.reshape(self.players, self.players)
        both: Floats = -(one_way + one_way.T)
        np.fill_diagonal(both, -both.sum(1))
        return both

    def sums(self, values: Floats) -> Floats:
        """[players] X' values: plus a pair's value for its first, minus for its second player."""
        plus = self._summed(self.first, values, self.players)
        return plus - self._summed(self.second, values, self.players)

    @staticmethod
    def _summed(places: NDArray[np.intp], values: Floats, number: int) -> Floats:
        return np.asarray(np.bincount(places, values, number), dtype=np.float64)

    def differences(self, values: Floats) -> Floats:
        """[pairs] X values: value of the first player minus that of the second."""
        difference: Floats = values[self.first] - values[self.second]
        return difference


def misfit_variance(met: Met) -> float:
    """tau^2 by restricted maximum likelihood (Patterson & Thompson 1971), at least 0.

    Without more pairs than a tree of the players has, nothing tells u from theta, and it is 0.
    """
    residual = met.mean - met.differences(strengths(met, np.ones(len(met.mean))))
    most = math.sqrt(float(residual @ residual) / met.freedom) if met.freedom else 0.0
    if most <= _ROUNDING * float(np.max(np.abs(met.mean))):
        return 0.0
    error = met.margins.error
    if not error.any():
        return most**2

    def lost(tau: float) -> float:
        return -restricted_likelihood(met, error + tau**2)

    grid = np.concatenate([[0.0], 2 * most * np.geomspace(1e-3, 1.0, _GRID)])
    losses = [lost(float(tau)) for tau in grid]
    best = int(np.argmin(losses))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, _GRID)]
    found = minimize_scalar(lost, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    return float(found.x) ** 2 if losses[0] - found.fun > _LEAST_GAIN else 0.0


def restricted_likelihood(met: Met, variance: Floats) -> float:
    """Restricted log-likelihood of the variances of mean margins, up to a constant.

    -1/2 (sum log v + log |X' W X| + sum w (y - fit)^2) with w = 1 / v, one player left out of X.
    """
    weight = 1 / variance
    factor = cho_factor(met.laplacian(weight)[1:, 1:])
    theta = np.zeros(met.players)
    theta[1:] = cho_solve(factor, met.sums(weight * met.mean)[1:])
    residual = met.mean - met.differences(theta)
    logarithms = np.log(variance).sum() + 2 * np.log(np.diag(factor[0])).sum()
    return -0.5 * float(logarithms + weight @ residual**2)


def strengths(met: Met, weight: Floats) -> Floats:
    """[players] strengths by weighted least squares, with a mean of 0."""
    theta: Floats = pseudo_inverse(met, weight) @ met.sums(weight * met.mean)
    return theta


def pseudo_inverse(met: Met, weight: Floats) -> Floats:
    """[players, players] of X' W X; strengths with a mean of 0 have it as covariance."""
    information = met.laplacian(weight)
    # Of a connected graph, only equal strengths are in the null space; the constant fills it.
    level = float(np.trace(information)) / met.players**2
    inverse = cho_solve(cho_factor(information + level), np.eye(met.players))
    return inverse - 1 / (level * met.players**2)
