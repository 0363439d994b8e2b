"""Positions of board games as text."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MARKS = ".XO"


def board_text(planes: NDArray[Any], seat: int) -> str:
    """One line per row: X for the pieces of seat 0, O for those of seat 1.

    planes  [rows, columns, 2]: plane 0 the pieces of `seat`, plane 1 those of the other
    """
    first, second = planes[..., seat], planes[..., 1 - seat]
    return "\n".join(
        " ".join(MARKS[cell] for cell in row) for row in np.where(first, 1, np.where(second, 2, 0))
    )
