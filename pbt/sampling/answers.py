"""Which weights answered for seats, in columns."""

import numpy as np
from numpy.typing import NDArray

_Indices = NDArray[np.int64]


class AnswerColumns:
    """(version, digest) of the weights that answered for each seat, in the order of their answers.

    count  [seats] how many there are in the seat's game
    """

    def __init__(self, seats: int) -> None:
        self.count = np.zeros(seats, np.int64)
        self._told = np.zeros((seats, 2, 2), np.int64)

    def add(self, seats: _Indices, version: int, weights: int) -> None:
        """Note one for each of these seats. weights: the digest."""
        at = self.count[seats]
        if len(at) and at.max() == self._told.shape[1]:
            self._told = np.concatenate([self._told, np.zeros_like(self._told)], axis=1)
        self._told[seats, at] = version, weights
        self.count[seats] = at + 1

    def clear(self, seats: _Indices) -> None:
        """Forget those of these seats, whose next games begin."""
        self.count[seats] = 0

    def of(self, seat: int) -> list[tuple[int, int]]:
        """Those of one seat."""
        told = self._told[seat, : self.count[seat]]
        return [(version, weights) for version, weights in told.tolist()]

    def among(self, seats: _Indices) -> tuple[_Indices, _Indices, _Indices]:
        """Those of several seats, one seat after the other: (index into `seats`, version, digest)
        of each.
        """
        count = self.count[seats]
        place = np.repeat(np.arange(len(seats)), count)
        within = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
        told = self._told[seats[place], within]
        return place, told[:, 0], told[:, 1]
