"""Ends of intervals from the profile of the penalised likelihood (Heinze and Schemper 2002)."""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from arena.stats.davidson import Likelihood, Point
from arena.stats.design import Vector
from arena.stats.newton import shortened
from pbt.errors import EngineError

_STEPS, _TOLERANCE, _PRECISION, _TILTED = 200, 1e-3, 1e-5, 1e-3


def profile_end(
    likelihood: Likelihood, best: Point, contrast: Vector, drop: float, side: int
) -> float:
    """The value of contrast @ beta furthest from its estimate where the likelihood is near enough.

    best      the point with the largest log-likelihood
    contrast  [size] a linear combination of the parameters
    drop      how far below the maximum the log-likelihood lies at the end
    side      1: the upper end, -1: the lower end

    All other parameters are as likely as they can be there. The steps are those of Venzon and
    Moolgavkar 1988.
    Raises: EngineError when the search does not converge.
    """
    target, free = best.value - drop, contrast[likelihood.layout.free]
    unit, point = math.sqrt(float(contrast @ best.covariance @ contrast)), best
    for _ in range(_STEPS):
        step = _towards_end(point, free, target, side)
        # Parameters of which the likelihood says nothing may still move, and change nothing.
        moved, gained = float(free @ step), float(step @ point.curvature @ step)
        if abs(moved) < _TOLERANCE * unit and gained < _TOLERANCE**2:
            return float(contrast @ likelihood.beta(point.values + step))
        step, scale = shortened(step), 1.0
        # "not >=" also shortens a step to a likelihood that is nan.
        while (
            not (tried := likelihood.at(point.values + scale * step)).value >= target - drop
            and scale > 1e-6
        ):
            scale /= 2
        point = tried
    raise EngineError(f"the end of an interval was not found in {_STEPS} steps")


def _towards_end(point: Point, contrast: Vector, target: float, side: int) -> Vector:
    """[free] the step to the end, were the log-likelihood a quadratic."""
    newton, along = np.linalg.solve(point.curvature, np.stack([point.gradient, contrast], axis=1)).T
    above = max(0.0, 2 * (point.value - target) + float(point.gradient @ newton))
    step: Vector = newton + side * math.sqrt(above / float(contrast @ along)) * along
    return step


def line_end(
    likelihood: Likelihood, best: Point, contrast: Vector, drop: float, side: int
) -> float:
    """As `profile_end`, where the other parameters move in proportion to the combination.

    They move as their covariance with it says. The penalty is Jeffreys' prior of this model of one
    parameter. What the other parameters add to it is linear up to two standard errors, such that
    the maximum stays where it is. It takes no time even for many players.
    """
    direction = best.covariance @ contrast
    unit = math.sqrt(float(contrast @ direction))
    height = _height(likelihood, best, direction / unit)
    tilt = (height(_TILTED) - height(-_TILTED)) / (2 * _TILTED)
    target, far = height(0.0) - drop, 2.0

    def above(distance: float) -> float:
        return height(side * distance) - tilt * side * min(distance, 2.0) - target

    while above(far) > 0:
        far *= 2
    distance = brentq(above, 0.0, far, xtol=_PRECISION)
    return float(contrast @ best.beta) + side * unit * float(distance)


def _height(likelihood: Likelihood, best: Point, direction: Vector) -> Callable[[float], float]:
    """The penalised log-likelihood along a direction, [size]."""
    by_d, by_tie = best.design.along(direction)
    games = best.design.cells.games

    def height(distance: float) -> float:
        value, chances = likelihood.plain(best.beta + distance * direction)
        dd, dt, tt = chances.variance
        information = games @ (dd * by_d**2 + 2 * dt * by_d * by_tie + tt * by_tie**2)
        return value + math.log(float(information)) / 2

    return height
