"""From the rendered screen to what the network sees."""

import numpy as np
from numpy.typing import NDArray


class ScreenSampler:
    """Nearest neighbour, by one gather: pixel (y, x) shows pixel (y * H // h, x * W // w) of the screen. The same as OpenCV's INTER_NEAREST."""

    def __init__(self, screen: tuple[int, int], sampled: tuple[int, int], channels: int) -> None:
        """screen, sampled: (height, width)."""
        self._channels = channels
        self.shape = (*sampled, channels)
        rows, columns = (np.arange(to) * of // to for of, to in zip(screen, sampled, strict=True))
        self._pixels = (rows[:, None] * screen[1] + columns).reshape(-1)
        self._whole = screen == sampled

    def sample(self, screen: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """[H, W, C] (or [H, W] with one channel) -> [h, w, C], a new array unless the sizes are equal."""
        if self._whole:
            return screen.reshape(self.shape)
        # "clip" spares numpy the buffer it needs to take back a failed "raise".
        return np.take(screen.reshape(-1, self._channels), self._pixels, axis=0, mode="clip").reshape(self.shape)
