"""The advantage of the first seat: whether the games tell it, and whether it grows with strength.

In the model of `arena.stats.davidson` it is gamma0 + gamma1 (theta_i + theta_j) / 2.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from arena.stats.davidson import Likelihood, Point
from arena.stats.design import Layout
from arena.stats.dispersion import Sandwich
from arena.stats.meetings import Cells
from arena.stats.newton import maximum
from pbt.errors import EngineError

# Strength would count three times as much in one seat as in the other. At 2 it would not count in
# the second seat at all, and near there the likelihood of few games has maxima without meaning.
STEEPEST = 1.0


def is_identified(cells: Cells) -> bool:
    """Whether the games tell the advantage of the first seat from strengths.

    They do not where strengths alone can give every first player the same lead, as in games of one
    order of seats between two players. The players must be connected by games.
    """
    forth = cells.first * cells.players + cells.second
    if np.isin(forth, cells.second * cells.players + cells.first).any():
        return True
    incidence = np.zeros((cells.players, cells.players))
    np.add.at(incidence, (cells.first, cells.second), -1.0)
    laplacian = incidence + incidence.T
    laplacian -= np.diag(laplacian.sum(1))
    lead = np.bincount(cells.first, minlength=cells.players) - np.bincount(
        cells.second, minlength=cells.players
    )
    strength = np.zeros(cells.players)
    strength[1:] = np.linalg.solve(laplacian[1:, 1:], lead[1:])
    unexplained = 1 - strength[cells.first] + strength[cells.second]
    return bool(np.any(np.abs(unexplained) > 1e-6))


def with_slope(level: Point, likelihood: Likelihood) -> tuple[Likelihood, Point] | None:
    """The fit with gamma1, None unless its 95 % interval excludes 0 and it is between -1 and 1.

    level       the fit with gamma0 alone
    likelihood  its likelihood
    """
    old = level.layout
    layout = Layout(old.players, old.pinned, seat=True, slope=True, ties=old.ties)
    place = layout.players + 1
    sloped = Likelihood(likelihood.cells, layout, penalised=likelihood.penalised)
    start = np.insert(level.beta, place, 0.0)[layout.free]
    if 1.96 / math.sqrt(max(_evidence(sloped.at(start), place), 1e-12)) > STEEPEST:
        return None
    try:
        best = maximum(sloped.at, start, needed="a win and a loss")
    except EngineError:
        return None
    slope = float(best.beta[place])
    if not -STEEPEST < slope < STEEPEST:
        return None
    contrast = np.zeros(layout.size)
    contrast[place] = 1.0
    spread = Sandwich(best).of_seats(contrast)
    half = float(stdtrit(spread.freedom, 0.975)) * math.sqrt(
        spread.ratio * best.covariance[place, place]
    )
    return (sloped, best) if abs(slope) > half else None


def _evidence(point: Point, place: int) -> float:
    """Information about one parameter when all others are fitted as well."""
    among: NDArray[np.bool_] = point.layout.free == place
    information = point.information
    others = information[np.ix_(~among, ~among)]
    cross = information[~among][:, among][:, 0]
    return float(information[among, among][0] - cross @ np.linalg.solve(others, cross))
