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
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arena.stats.meetings import Cells

Vector = NDArray[np.float64]
Chosen = NDArray[np.intp] | slice
EVERY = slice(None)


@dataclass(frozen=True)
class Layout:
    """Which parameters a model has: strengths, then gamma0, gamma1 and log nu, where they are.

    players  number of players
    pinned   index of the player whose strength is 0
    seat     whether the model has gamma0
    slope    whether it has gamma1, which needs gamma0
    ties     whether it has nu
    held     value of gamma1, where it is not fitted
    """

    players: int
    pinned: int
    seat: bool = False
    slope: bool = False
    ties: bool = False
    held: float | None = None

    @property
    def extras(self) -> slice:
        """Places of gamma0 and gamma1."""
        return slice(self.players, self.players + self.seat + self.slope)

    @property
    def size(self) -> int:
        """Number of parameters, the pinned strength included."""
        return self.players + self.seat + self.slope + self.ties

    @cached_property
    def free(self) -> NDArray[np.intp]:
        """Places of the parameters that are fitted."""
        fixed = [self.pinned, *([self.players + 1] if self.held is not None else [])]
        return np.setdiff1d(np.arange(self.size), fixed)

    @cached_property
    def square(self) -> tuple[NDArray[np.intp], ...]:
        """Index of the rows and columns of the fitted parameters in a [size, size] matrix."""
        return np.ix_(self.free, self.free)

    @cached_property
    def level(self) -> "Layout":
        """The layout without gamma1."""
        return replace(self, slope=False, held=None)


@dataclass(frozen=True, slots=True)
class Design:
    """The derivatives of (d, log nu) of every cell with respect to the parameters.

    own    derivative of d by the strength of the first player
    other  derivative of d by the strength of the second player
    extra  [cells, k] derivatives of d by gamma0 and gamma1
    """

    cells: Cells
    layout: Layout
    own: float
    other: float
    extra: NDArray[np.float64]

    def along(self, direction: Vector) -> tuple[Vector, float]:
        """(change of d, [cells]; change of log nu) along a direction, [size]."""
        change = (
            self.own * direction[self.cells.first]
            + self.other * direction[self.cells.second]
            + self.extra @ direction[self.layout.extras]
        )
        return change, float(direction[-1]) if self.layout.ties else 0.0

    def gathered(self, by_d: Vector, by_tie: Vector) -> Vector:
        """[size] gradient from the gradients by d and by log nu of every cell."""
        players = self.layout.players
        gradient = np.zeros(self.layout.size)
        weights = np.concatenate([self.own * by_d, self.other * by_d])
        gradient[:players] = np.bincount(self.cells.ends, weights, players)
        gradient[self.layout.extras] = by_d @ self.extra
        if self.layout.ties:
            gradient[-1] = by_tie.sum()
        return gradient

    def gram(self, dd: Vector, dt: Vector, tt: Vector) -> NDArray[np.float64]:
        """[size, size] sum over the cells of J' W J.

        J is [2, size], the derivatives; W is [[dd, dt], [dt, tt]].
        """
        players, total = self.layout.players, np.zeros((self.layout.size, self.layout.size))
        cross = self.own * self.other * dd
        weights = np.concatenate([self.own**2 * dd, self.other**2 * dd, cross, cross])
        strengths = np.bincount(self.cells.squares, weights, players**2)
        total[:players, :players] = strengths.reshape(players, players)
        for place, column in enumerate(self.extra.T, start=players):
            total[place] = total[:, place] = self.gathered(dd * column, dt * column)
        if self.layout.ties:
            total[-1] = total[:, -1] = self.gathered(dt, tt)
        return total

    def between(
        self, matrix: NDArray[np.float64], a: Chosen, b: Chosen
    ) -> tuple[Vector, Vector, Vector, Vector]:
        """J_a M J_b' for cells a and b: its entries (dd, dt, td, tt), [number of cells] each.

        matrix  [size, size] symmetric
        a       indices of k cells
        b       indices of k cells
        """
        cells, extras = self.cells, self.layout.extras
        f_a, s_a, f_b, s_b = cells.first[a], cells.second[a], cells.first[b], cells.second[b]
        extra_a, extra_b = self.extra[a], self.extra[b]
        dd = (
            self.own**2 * matrix[f_a, f_b]
            + self.own * self.other * (matrix[f_a, s_b] + matrix[s_a, f_b])
            + self.other**2 * matrix[s_a, s_b]
        )
        if self.layout.seat:
            rows = matrix[:, extras]
            dd += np.sum(extra_b * (self.own * rows[f_a] + self.other * rows[s_a]), axis=1)
            dd += np.sum(extra_a * (self.own * rows[f_b] + self.other * rows[s_b]), axis=1)
            dd += np.sum(extra_a @ matrix[extras, extras] * extra_b, axis=1)
        if not self.layout.ties:
            none = np.zeros(len(dd))
            return dd, none, none, none
        by_tie = self.along(matrix[:, -1])[0]
        return dd, by_tie[a], by_tie[b], np.full(len(dd), matrix[-1, -1])


@dataclass(frozen=True)
class Chances:
    """What the model expects of a game of each cell. Outcomes: the first player wins, ties, loses.

    The score of a game by d is 1/2, 0 or -1/2 by the outcome, less its mean; by log nu it is 1 for
    a tie and else 0, less its mean. Formulas are sums where they can be, because differences lose
    their precision where an outcome is almost certain.

    win    [cells] probability that the first player wins
    tie    [cells] of a tie
    loss   [cells] that the second player wins
    total  [cells] logarithm of the sum of the weights exp(d / 2), nu and exp(-d / 2)
    """

    win: Vector
    tie: Vector
    loss: Vector
    total: Vector

    @classmethod
    def of(cls, d: Vector, log_nu: float) -> "Chances":
        """The chances where a cell's game is decided by d; log_nu -inf means no ties."""
        half = d / 2
        size = np.abs(half)
        total = size + np.log1p(np.exp(-2 * size) + np.exp(log_nu - size))
        return cls(np.exp(half - total), np.exp(log_nu - total), np.exp(-half - total), total)

    @cached_property
    def p(self) -> NDArray[np.float64]:
        """[3, cells] the probabilities."""
        return np.stack([self.win, self.tie, self.loss])

    @cached_property
    def decided(self) -> NDArray[np.float64]:
        """[3, cells] the score by d."""
        win, tie, loss = self.win, self.tie, self.loss
        return np.stack([loss + tie / 2, (loss - win) / 2, -(win + tie / 2)])

    @cached_property
    def tied(self) -> NDArray[np.float64]:
        """[3, cells] the score by log nu."""
        win, tie, loss = self.win, self.tie, self.loss
        return np.stack([-tie, win + loss, -tie])

    @cached_property
    def variance(self) -> tuple[Vector, Vector, Vector]:
        """[cells] variance of the score by d, its covariance with that by log nu, that's variance.

        They are the second derivatives of the logarithm of the sum of the three weights.
        """
        win, tie, loss = self.win, self.tie, self.loss
        decisive = win + loss
        return win * loss + tie * decisive / 4, tie * (loss - win) / 2, tie * decisive

    @cached_property
    def third(self) -> tuple[Vector, Vector, Vector, Vector]:
        """[cells] derivatives of the variance: by d of its first entry, by log nu of all three."""
        win, tie, loss = self.win, self.tie, self.loss
        mean, decisive, both = (win - loss) / 2, win + loss, 2 * win * loss
        rest = tie * (decisive - tie)
        return (
            -mean * (both + rest / 4),
            decisive * rest / 4 - tie * both,
            -mean * rest,
            decisive * rest,
        )


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
        inner = information[square]
        whole = np.zeros(information.shape)
        try:
            half = float(np.sum(np.log(np.diag(np.linalg.cholesky(inner)))))
        except np.linalg.LinAlgError:
            return -math.inf, whole
        whole[square] = np.linalg.inv(inner)
        return half, whole
