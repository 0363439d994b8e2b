"""Curves reduced to few points for drawing, with their lows and highs. Pure."""

import numpy as np
from numpy.typing import NDArray


def decimate(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The indices of at most `count` values: the first, the last, and extremes in between.

    The values in between are split into stretches of equal length; the lowest and the highest of
    each are kept. A gap (NaN) is kept where a stretch has nothing else.

    values  [N]
    count   4 or more
    """
    if len(values) <= count:
        return np.arange(len(values))
    inner = values[1:-1]
    length = -(-len(inner) // ((count - 2) // 2))
    stretches = -(-len(inner) // length)
    padded = np.full(stretches * length, np.nan)
    padded[: len(inner)] = inner
    table = padded.reshape(stretches, length)
    missing, starts = np.isnan(table), 1 + length * np.arange(stretches)
    lows = starts + np.where(missing, np.inf, table).argmin(axis=1)
    highs = starts + np.where(missing, -np.inf, table).argmax(axis=1)
    return np.unique(np.concatenate([[0], lows, highs, [len(values) - 1]]))
