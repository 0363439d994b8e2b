"""The chances of a win, a tie and a loss (Davidson 1970), and the moments of a game's score."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


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
