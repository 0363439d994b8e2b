"""One leaf's column of a slab, which takes no number that cannot be learned from.

It is written once per step of every seat, so the usual case is decided by one number. Only where
that number is too large, or the game gives another type, is every entry looked at.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.numbers import LARGEST, leaf_problem
from pbt.envs.spaces import Leaf
from pbt.errors import NumberError

# BLAS may use several threads for the inner product of a longer vector.
_LONGEST_PRODUCT = 4096
_LARGEST_SQUARED = LARGEST**2
# Integers of fewer bytes are never too large.
_WIDE_BYTES = 4
_PRECISE = (np.dtype(np.float32), np.dtype(np.float64))


class LeafColumn:
    """Writes and checks the observations of one leaf.

    array  the column, [slots, T+1, *shape] in the leaf's dtype
    """

    def __init__(self, leaf: Leaf, array: NDArray[Any]) -> None:
        self.leaf, self.array = leaf, array
        # A view of the indices of a leaf that is taken one-hot.
        self._indices = array.view(np.uint64) if leaf.kind == "onehot" else None
        self._sizes = np.array(leaf.sizes, np.uint64)
        self._floats = leaf.dtype == np.float32
        self._narrow = leaf.dtype.kind != "f" and leaf.dtype.itemsize < _WIDE_BYTES

    def write(self, slot: int, row: int, part: Any) -> None:
        """Write what a seat sees.

        Raises: NumberError, where a number cannot be learned from; the row is then not to be used.
        """
        if self._indices is None:
            if type(part) is not np.ndarray or not self._surely_usable(part):
                self._refuse(part)
            self.array[slot, row] = part
            return
        self.array[slot, row] = part
        # A negative index is a huge one without its sign.
        if not (self._indices[slot, row] < self._sizes).all():
            self._refuse(part)

    def _refuse(self, part: Any) -> None:
        if problem := leaf_problem(self.leaf, part):
            raise NumberError(problem)

    def _surely_usable(self, part: NDArray[Any]) -> bool:
        """Whether the cheapest look finds nothing. The comparisons are false where one is nan."""
        if self._floats and part.dtype in _PRECISE:
            if part.size <= _LONGEST_PRODUCT:
                # Unlike numpy's other inner products this one does not warn of an overflow.
                return bool(np.vdot(part, part) <= _LARGEST_SQUARED)
        elif self._narrow or part.dtype != self.leaf.dtype or part.dtype.kind == "f":
            return self._narrow and part.dtype == self.leaf.dtype
        return bool(part.min() >= -LARGEST and part.max() <= LARGEST)
