"""Makes pictures smaller and grey, in whole numbers, so every machine gives the same bytes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# ITU-R 601-2 luma of red, green and blue, in 65536ths and as Pillow rounds it.
_LUMA = (19_595, 38_470, 7_471)
_LUMA_BITS = 16


def grey(picture: NDArray[Any]) -> NDArray[Any]:
    """[H, W, 3 or 4] -> [H, W, 1] of the same dtype. A fourth channel is opacity, and is dropped.

    Bytes are rounded to the nearest.
    """
    if picture.dtype == np.uint8:
        total = np.full(picture.shape[:2], 1 << (_LUMA_BITS - 1), np.int32)
        for channel, weight in enumerate(_LUMA):
            total += np.multiply(picture[:, :, channel], weight, dtype=np.int32)
        return (total >> _LUMA_BITS).astype(np.uint8)[:, :, None]
    weights = np.array(_LUMA, picture.dtype) / (1 << _LUMA_BITS)
    luma: NDArray[Any] = (picture[:, :, :3] * weights).sum(2, keepdims=True)
    return luma


class AreaResizer:
    """Resizes pictures: a new pixel is the mean of the area that it covers of the old ones.

    A side that grows repeats pixels. Sums of bytes are exact, and their mean is rounded to the
    nearest, halves up.
    """

    def __init__(self, old: tuple[int, int], new: tuple[int, int]) -> None:
        """old, new: (height, width)."""
        (self._rows, self._columns), self._area = map(_taps, old, new), old[0] * old[1]
        exact = 255 * self._area < np.iinfo(np.int32).max
        self._whole = np.dtype(np.int32 if exact else np.int64)

    def __call__(self, picture: NDArray[Any]) -> NDArray[Any]:
        """[H, W, C] -> [h, w, C], a new array of the same dtype."""
        whole = picture.dtype == np.uint8
        dtype = self._whole if whole else picture.dtype
        total = _sums(_sums(picture, self._rows, 0, dtype), self._columns, 1, dtype)
        if not whole:
            return total / dtype.type(self._area)
        return ((total + self._area // 2) // self._area).astype(np.uint8)


Taps = list[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""(places of old pixels, weights) of the first old pixels under all new ones, of the second, ..."""


def _taps(old: int, new: int) -> Taps:
    """The old pixels under each new one along a side, and how much of each it covers.

    Lengths are in 1 / new of an old pixel: old pixel i lies in [i * new, (i + 1) * new), new pixel
    j in [j * old, (j + 1) * old). The weights of a new pixel add up to `old`.
    """
    starts = np.arange(new) * old
    first, last = starts // new, (starts + old - 1) // new
    taps: Taps = []
    for step in range(int((last - first).max()) + 1):
        places = first + step
        ends = np.minimum((places + 1) * new, starts + old)
        weights = np.maximum(ends - np.maximum(places * new, starts), 0)
        taps.append((np.minimum(places, old - 1), weights))
    return taps


def _sums(picture: NDArray[Any], taps: Taps, axis: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The weighted sums of the old pixels along one side."""
    shape = (-1, 1, 1) if axis == 0 else (1, -1, 1)
    parts = (
        np.multiply(
            np.take(picture, places, axis), weights.reshape(shape).astype(dtype), dtype=dtype
        )
        for places, weights in taps
    )
    total: NDArray[Any] = next(parts)
    for part in parts:
        total += part
    return total
