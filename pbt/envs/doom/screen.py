"""Samples the rendered screen down to the image that the network sees."""

import numpy as np
from numpy.typing import NDArray


class ScreenSampler:
    """Nearest neighbour: pixel (y, x) shows pixel (y * H // h, x * W // w) of the screen.

    This is the same as OpenCV's INTER_NEAREST.
    """

    def __init__(self, screen: tuple[int, int], sampled: tuple[int, int], channels: int) -> None:
        """screen, sampled: (height, width)."""
        self._channels, self._size, self._width = channels, sampled, screen[1]
        self.shape = (*sampled, channels)
        self._rows, self._columns = (
            np.arange(to) * of // to for of, to in zip(screen, sampled, strict=True)
        )
        self._run, self._period = runs(self._columns)

    def sample(self, screen: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """[H, W, C] (or [H, W] with one channel), contiguous -> [h, w, C], a new array."""
        # With "clip" numpy needs no buffer, which "raise" needs to undo a failed call.
        rows = np.take(screen.reshape(screen.shape[0], -1), self._rows, axis=0, mode="clip")
        if not self._run:
            return np.take(
                rows.reshape(-1, self._width, self._channels), self._columns, axis=1, mode="clip"
            )
        # Neighbouring pixels are copied as one item, four times as fast as pixel by pixel.
        item, height = np.dtype((np.void, self._run * self._channels)), self._size[0]
        count = self._size[1] // self._run
        strides = (self._width * self._channels, self._period * self._channels)
        copied = np.ndarray((height, count), item, rows, 0, strides).copy()
        return copied.view(np.uint8).reshape(self.shape)


def runs(columns: NDArray[np.int64]) -> tuple[int, int]:
    """(run, period): of every `period` columns of the screen the first `run` are shown.

    (0, 0) where the columns are not as regular as that.
    """
    for run in range(len(columns), 0, -1):
        if len(columns) % run:
            continue
        period = int(columns[run]) if run < len(columns) else int(columns[-1]) + 1
        if np.array_equal(
            columns, (np.arange(len(columns) // run)[:, None] * period + np.arange(run)).reshape(-1)
        ):
            return run, period
    return 0, 0
