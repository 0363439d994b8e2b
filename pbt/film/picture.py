"""Paints one picture of a film: a tile for every seat that sees an image, and the clock below.

Each tile carries the player's name and score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Picture = NDArray[np.uint8]
"""[H, W, 3], RGB."""

# Height of a tile where no scale is asked for, and its least width, since text stands on it.
_HEIGHT, _LEAST_WIDTH = 288, 220
_LEAST_BAND, _MOST_BAND, _BANDS_IN_TILE = 14, 24, 12
_GAP = 4
_BACKGROUND, _SHADE, _WHITE, _GREY = (18, 18, 22), (0, 0, 0, 150), (255, 255, 255), (200, 200, 205)
_CUT = "..."


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a picture that belongs to one seat.

    image  [h, w, 3]; None before the seat has seen anything
    name   of the player
    score  as text
    """

    image: Picture | None
    name: str
    score: str


def as_rgb(image: NDArray[np.uint8]) -> Picture:
    """[h, w, 1], [h, w, 3] or [h, w, 4] -> [h, w, 3].

    A fourth channel is opacity, and is dropped.
    """
    return np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image[:, :, :3]


def columns_of(tiles: int) -> int:
    """How many tiles stand side by side: two of two, else a grid as wide as it is high."""
    return 2 if tiles == 2 else ceil(sqrt(tiles))


class Painter:
    """Paints pictures of one size.

    tiles   how many tiles a picture has
    height  of the largest image
    width   of the largest image
    scale   pixels of the video to one of an image; None: as many as make a tile about 288 high
    size    (width, height) of a picture, even numbers, as the codec needs them
    """

    def __init__(self, tiles: int, height: int, width: int, scale: int | None = None) -> None:
        self._scale = scale or max(1, round(_HEIGHT / height))
        self._columns = columns_of(tiles)
        self._cell = (max(width * self._scale, _LEAST_WIDTH), height * self._scale)
        self._band = min(max(self._cell[1] // _BANDS_IN_TILE, _LEAST_BAND), _MOST_BAND)
        self._font = ImageFont.load_default(self._band * 2 / 3)
        rows = ceil(tiles / self._columns)
        across = self._columns * (self._cell[0] + _GAP) - _GAP
        down = rows * (self._cell[1] + _GAP) - _GAP
        self._clock_y = down
        self.size = (across + across % 2, down + self._band + (down + self._band) % 2)

    def paint(self, tiles: Sequence[Tile], clock: str) -> Picture:
        """A picture.

        clock  the line below the tiles
        """
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
        """As much of the text as there is room for."""
        if self._font.getlength(text) <= room:
            return text
        while text and self._font.getlength(text + _CUT) > room:
            text = text[:-1]
        return text + _CUT
