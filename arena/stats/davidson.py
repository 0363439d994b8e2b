"""The Bradley-Terry model with ties and an advantage of the first seat, in natural logarithms.

A game of player f in the first seat against player s is decided by
d = theta_f - theta_s + gamma0 + gamma1 (theta_f + theta_s) / 2:

    P(f wins) : P(tie) : P(s wins) = exp(d / 2) : nu : exp(-d / 2)

(Bradley and Terry 1952; ties: Davidson 1970; order: Davidson and Beaver 1977). gamma0, gamma1 and
nu may be left out. The penalty is Jeffreys' prior, 1/2 log|I|, which removes the first-order bias
of the estimates (Firth 1993) and keeps a 10-0 finite. I is the information that the same chances
have in the model without gamma1: gamma1 makes no rating infinite, and a prior on it would push it
away from 0 and equal players apart.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from arena.stats.chances import Chances
from arena.stats.design import EVERY, Design, Layout, Vector
from arena.stats.meetings import Cells


@dataclass(frozen=True)
class Point:
    """The penalised log-likelihood at some parameters.

    beta         [size] all parameters
    values       [free] those that are fitted
    value        the penalised log-likelihood, -inf where the information is singular
    gradient     [free] its gradient
    curvature    [free, free] about its negative Hessian: the information with each cell's weight
                 raised as the penalty raises it
    information  [free, free] expected information (Fisher), without the penalty
    """

    layout: Layout
    design: Design
    chances: Chances
    beta: Vector
    values: Vector
    value: float
    gradient: Vector
    curvature: NDArray[np.float64]
    information: NDArray[np.float64]

    @cached_property
    def covariance(self) -> NDArray[np.float64]:
        """[size, size] inverse of the information; zero for what is not fitted."""
        whole = np.zeros((self.layout.size, self.layout.size))
        whole[self.layout.square] = np.linalg.inv(self.information)
        return whole


class Likelihood:
    """The penalised log-likelihood of a model, given the games.

    penalised  False: the plain likelihood, whose maximum may be infinite
    """

    def __init__(self, cells: Cells, layout: Layout, *, penalised: bool = True) -> None:
        self.cells, self.layout, self.penalised = cells, layout, penalised
        self._games, self._ties = cells.games, cells.counts[:, 1]
        self._halves = (cells.counts[:, 0] - cells.counts[:, 2]) / 2
        ones = np.ones((len(cells.first), int(layout.seat)))
        self._level = Design(cells, layout.level, 1.0, -1.0, ones)

    def beta(self, values: Vector) -> Vector:
        """[size] all parameters from those that are fitted."""
        beta = np.zeros(self.layout.size)
        beta[self.layout.free] = values
        if self.layout.held is not None:
            beta[self.layout.players + 1] = self.layout.held
        return beta

    def at(self, values: Vector) -> Point:
        """The penalised log-likelihood at these parameters, [free]."""
        beta = self.beta(values)
        design, games = self._design(beta), self._games
        value, chances = self.plain(beta)
        dd, dt, tt = (games * part for part in chances.variance)
        by_d = self._halves - games * (chances.win - chances.loss) / 2
        by_tie = self._ties - games * chances.tie
        information = curvature = design.gram(dd, dt, tt)
        if self.penalised:
            penalty, inverse = self._penalty(
                self._level.gram(dd, dt, tt) if self.layout.slope else information
            )
            value += penalty
            g_dd, g_dt, _, g_tt = self._level.between(inverse, EVERY, EVERY)
            third = chances.third
            by_d = by_d + games / 2 * (g_dd * third[0] + 2 * g_dt * third[1] + g_tt * third[2])
            by_tie = by_tie + games / 2 * (g_dd * third[1] + 2 * g_dt * third[2] + g_tt * third[3])
            raised = 1 + (g_dd * dd + 2 * g_dt * dt + g_tt * tt) / games
            curvature = design.gram(dd * raised, dt * raised, tt * raised)
        gradient = design.gathered(by_d, by_tie)
        free, square = self.layout.free, self.layout.square
        return Point(
            self.layout,
            design,
            chances,
            beta,
            values,
            value,
            gradient[free],
            curvature[square],
            information[square],
        )

    def plain(self, beta: Vector) -> tuple[float, Chances]:
        """The log-likelihood without a penalty, and the chances, at all parameters, [size]."""
        players = self.layout.players
        one, two = beta[self.cells.first], beta[self.cells.second]
        d = one - two
        if self.layout.seat:
            d += beta[players]
        if self.layout.slope:
            d += beta[players + 1] / 2 * (one + two)
        log_nu = float(beta[-1]) if self.layout.ties else -math.inf
        chances = Chances.of(d, log_nu)
        value = float(self._halves @ d - self._games @ chances.total)
        if self.layout.ties:
            value += log_nu * float(self._ties.sum())
        return value, chances

    def _design(self, beta: Vector) -> Design:
        if not self.layout.slope:
            return self._level
        slope = float(beta[self.layout.players + 1])
        means = (beta[self.cells.first] + beta[self.cells.second]) / 2
        extra = np.hstack([self._level.extra, means[:, None]])
        return Design(self.cells, self.layout, 1 + slope / 2, slope / 2 - 1, extra)

    def _penalty(self, information: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """(1/2 log|I|, inverse of I with zeros for the pinned player) without gamma1.

        information  [size, size] of the model without gamma1
        """
        square = self._level.layout.square
        whole = np.zeros(information.shape)
        if not len(self.layout.level.free):
            return 0.0, whole
        factor, singular = dpotrf(information[square], lower=1, clean=1)
        if singular:
            return -math.inf, whole
        half = float(np.sum(np.log(np.diag(factor))))
        lower = dpotri(factor, lower=1)[0]
        whole[square] = lower + np.tril(lower, -1).T
        return half, whole
