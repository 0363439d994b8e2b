"""Which parameters a model of games of two seats has, and how a game depends on them.

The model is that of `arena.stats.davidson`.
"""

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
