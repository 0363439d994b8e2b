"""Strengths that order the sides of a matrix. They have no intervals: ratings are those with them.

Fits are penalised as if each side had drawn one game with a side of strength 0, so that every side
has a strength, however few games it has, and no fit fails.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from arena.stats.group_results import PairResults
from pbt.objective import ObjectiveKind

_STEPS = 30
_TOLERANCE = 1e-9

Floats = NDArray[np.float64]


def strengths_of(groups: PairResults, sides: int, objective: ObjectiveKind) -> Floats:
    """[sides] the strength of each: in log-odds, as a margin of a game, or as a mean return.

    groups  each two sides once; where returns count, once for each of the two
    """
    if objective == "return":
        games, got = np.zeros((2, sides))
        np.add.at(games, groups.first, groups.units[:, :, 0].sum(1))
        np.add.at(got, groups.first, groups.units[:, :, 1].sum(1))
        return np.where(games > 0, got / np.maximum(games, 1.0), -np.inf)
    if objective == "margin":
        number, total = groups.units[:, :, 0].sum(1), groups.units[:, :, 1].sum(1)
        pull = _spread(groups, total, sides)
        return np.linalg.solve(_laplacian(groups, number, sides), pull).astype(np.float64)
    points = groups.outcomes[:, 0] + groups.outcomes[:, 1] / 2
    return _bradley_terry(groups, points, groups.outcomes.sum(1), sides)


def _bradley_terry(groups: PairResults, points: Floats, games: Floats, sides: int) -> Floats:
    """The log-odds strengths of Bradley & Terry, by Newton steps on a concave likelihood."""
    strengths = np.zeros(sides)
    for _ in range(_STEPS):
        expected = expit(strengths[groups.first] - strengths[groups.second])
        gradient = _spread(groups, points - games * expected, sides)
        gradient += 0.5 - expit(strengths)
        weights = games * expected * (1 - expected)
        own = expit(strengths) * expit(-strengths)
        step = np.linalg.solve(_laplacian(groups, weights, sides, own), gradient)
        strengths += np.clip(step, -2.0, 2.0)
        if np.abs(step).max(initial=0.0) < _TOLERANCE:
            break
    return strengths


def _spread(groups: PairResults, values: Floats, sides: int) -> Floats:
    """[sides] sums of the values of each side, with the sign of its side."""
    sums = np.zeros(sides)
    np.add.at(sums, groups.first, values)
    np.subtract.at(sums, groups.second, values)
    return sums


def _laplacian(
    groups: PairResults, weights: Floats, sides: int, own: Floats | float = 1.0
) -> Floats:
    matrix = np.zeros((sides, sides))
    np.add.at(matrix, (groups.first, groups.second), -weights)
    matrix += matrix.T
    matrix[np.diag_indices(sides)] = own - matrix.sum(1)
    return matrix
