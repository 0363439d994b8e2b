"""The advantage of the first seat: whether the games tell it, and whether it grows with strength.

In the model of `arena.stats.davidson` it is gamma0 + gamma1 (theta_i + theta_j) / 2.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from arena.stats.davidson import Likelihood, Point
from arena.stats.design import Layout, Vector
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
    """The fit with gamma1; None where the games say too little of gamma1 to fit it.

    They do where its 95 % interval is wider than from -1 to 1, and where it ends outside of that.

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
    return (sloped, best) if -STEEPEST < float(best.beta[place]) < STEEPEST else None


def shows_slope(sloped: Point) -> bool:
    """Whether the 95 % interval of gamma1 excludes 0."""
    contrast = np.zeros(sloped.layout.size)
    place = sloped.layout.players + 1
    contrast[place] = 1.0
    return abs(float(sloped.beta[place])) > half_width(sloped, contrast)


def half_width(point: Point, contrast: Vector) -> float:
    """Half the 95 % interval of contrast @ beta, something about seats; contrast [size]."""
    spread = Sandwich(point).of_seats(contrast)
    variance = spread.ratio * float(contrast @ point.covariance @ contrast)
    return float(stdtrit(spread.freedom, 0.975)) * math.sqrt(variance)


class SeatWorth(NamedTuple):
    """What the first seat is worth between two players, with its 95 % interval."""

    value: float
    low: float
    high: float

    def times(self, scale: float) -> "SeatWorth":
        """The same in another unit."""
        return SeatWorth(*(scale * part for part in self))


def worth_at(point: Point, at: int) -> SeatWorth:
    """The advantage gamma0 + gamma1 theta between two players as strong as player `at`.

    The interval is that of the delta method, with the doubt about gamma0, gamma1 and theta. Where
    the point has no gamma1 the advantage is gamma0.
    """
    players, contrast = point.layout.players, np.zeros(point.layout.size)
    contrast[players] = 1.0
    value = float(point.beta[players])
    if point.layout.slope:
        strength, slope = float(point.beta[at]), float(point.beta[players + 1])
        value += slope * strength
        contrast[players + 1], contrast[at] = strength, slope
    half = half_width(point, contrast)
    return SeatWorth(value, value - half, value + half)


def _evidence(point: Point, place: int) -> float:
    """Information about one parameter when all others are fitted as well."""
    among: NDArray[np.bool_] = point.layout.free == place
    information = point.information
    others = information[np.ix_(~among, ~among)]
    cross = information[~among][:, among][:, 0]
    return float(information[among, among][0] - cross @ np.linalg.solve(others, cross))
