"""One picture of a film: a tile for every seat that sees an image, who it is and the score on
it, the clock below.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Picture = NDArray[np.uint8]
"""[H, W, 3], RGB."""

# Of a tile, where no scale is asked for; and the least, since there is text on it.
_HEIGHT, _LEAST_WIDTH = 288, 220
_LEAST_BAND, _MOST_BAND, _BANDS_IN_TILE = 14, 24, 12
_GAP = 4
_BACKGROUND, _SHADE, _WHITE, _GREY = (18, 18, 22), (0, 0, 0, 150), (255, 255, 255), (200, 200, 205)
_CUT = "..."


@dataclass(frozen=True, slots=True)
class Tile:
    """image: [h, w, 3], or None before the seat has seen anything"""

    image: Picture | None
    name: str
    score: str


def as_rgb(image: NDArray[np.uint8]) -> Picture:
    """[h, w, 1], [h, w, 3] or [h, w, 4] (whose fourth channel is opacity, and left away) -> [h,
    w, 3].
    """
    return np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image[:, :, :3]


def columns_of(tiles: int) -> int:
    """Two stand side by side, more in a grid as wide as it is high."""
    return 2 if tiles == 2 else ceil(sqrt(tiles))


class Painter:
    """Pictures of one size, of so many tiles.

    height, width  of the largest image;  scale: pixels of the video to one of an image; None: as
                   many as make a tile some 288 high
    size           (width, height) of a picture, even numbers, as the codec wants them
    """

    def __init__(self, tiles: int, height: int, width: int, scale: int | None = None) -> None:
        self._scale = scale or max(1, round(_HEIGHT / height))
        self._columns = columns_of(tiles)
        self._cell = (max(width * self._scale, _LEAST_WIDTH), height * self._scale)
        self._band = min(max(self._cell[1] // _BANDS_IN_TILE, _LEAST_BAND), _MOST_BAND)
        self._font = ImageFont.load_default(self._band * 2 / 3)
        rows = ceil(tiles / self._columns)
        across, down = (
            count * side + (count - 1) * _GAP
            for count, side in zip((self._columns, rows), self._cell, strict=True)
        )
        self._clock_y = down
        self.size = (across + across % 2, down + self._band + (down + self._band) % 2)

    def paint(self, tiles: Sequence[Tile], clock: str) -> Picture:
        """clock: the line below."""
        canvas = Image.new("RGB", self.size, _BACKGROUND)
        for place, tile in enumerate(tiles):
            row, column = divmod(place, self._columns)
            self._put(canvas, tile, column * (self._cell[0] + _GAP), row * (self._cell[1] + _GAP))
        self._write(canvas, clock, "", 0, self._clock_y, self.size[0])
        return np.asarray(canvas)

    def _put(self, canvas: Image.Image, tile: Tile, x: int, y: int) -> None:
        width, height = self._cell
        if tile.image is not None:
            image = Image.fromarray(np.ascontiguousarray(tile.image))
            image = image.resize(
                (image.width * self._scale, image.height * self._scale), Image.Resampling.NEAREST
            )
            canvas.paste(image, (x + (width - image.width) // 2, y + (height - image.height) // 2))
        ImageDraw.Draw(canvas, "RGBA").rectangle(
            (x, y, x + width - 1, y + self._band - 1), fill=_SHADE
        )
        self._write(canvas, tile.name, tile.score, x, y, width)

    def _write(
        self, canvas: Image.Image, left: str, right: str, x: int, y: int, width: int
    ) -> None:
        draw, middle, margin = ImageDraw.Draw(canvas), y + self._band / 2, self._band // 3
        room = width - 2 * margin - (self._font.getlength(right) + margin if right else 0)
        draw.text(
            (x + margin, middle),
            self._cut(left, room),
            _WHITE if right else _GREY,
            self._font,
            anchor="lm",
        )
        draw.text((x + width - margin, middle), right, _WHITE, self._font, anchor="rm")

    def _cut(self, text: str, room: float) -> str:
        """As much of it as there is room for."""
        if self._font.getlength(text) <= room:
            return text
        while text and self._font.getlength(text + _CUT) > room:
            text = text[:-1]
        return text + _CUT
