"""Pictures made smaller and grey, against slow and obvious references."""

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pbt.envs.resizing import AreaResizer, grey


def slow_resize(picture: NDArray[np.uint8], new: tuple[int, int]) -> NDArray[Any]:
    """The exact mean of the area under every new pixel, in fractions."""
    old, channels = picture.shape[:2], picture.shape[2]
    scale = [Fraction(a, b) for a, b in zip(old, new, strict=True)]
    result = np.zeros((*new, channels), object)
    for y, x in np.ndindex(*new):
        top, left = y * scale[0], x * scale[1]
        for i, j in np.ndindex(*old):
            tall = max(Fraction(0), min(top + scale[0], Fraction(i + 1)) - max(top, Fraction(i)))
            wide = max(Fraction(0), min(left + scale[1], Fraction(j + 1)) - max(left, Fraction(j)))
            if tall and wide:
                for channel in range(channels):
                    result[y, x, channel] += tall * wide * int(picture[i, j, channel])
    means: NDArray[Any] = result / (scale[0] * scale[1])
    return means


@pytest.mark.parametrize(
    ("old", "new"),
    [((9, 7), (4, 3)), ((8, 12), (4, 3)), ((5, 5), (5, 2)), ((3, 4), (7, 9)), ((11, 2), (3, 5))],
)
@pytest.mark.parametrize("channels", [1, 3])
def test_a_new_pixel_is_the_mean_of_its_area(
    old: tuple[int, int], new: tuple[int, int], channels: int
) -> None:
    rng = np.random.default_rng(0)
    resizer = AreaResizer(old, new)
    for _ in range(4):
        picture = rng.integers(0, 256, (*old, channels), np.uint8)
        exact = slow_resize(picture, new)
        rounded = np.vectorize(lambda mean: floor(mean + Fraction(1, 2)))(exact)
        resized = resizer(picture)
        assert resized.dtype == np.uint8
        assert np.array_equal(resized, rounded)
        floats = (picture / 255).astype(np.float32)
        assert np.allclose(resizer(floats), exact.astype(float) / 255, atol=1e-6)


def test_a_white_picture_of_millions_of_pixels_stays_white() -> None:
    white = np.full((4000, 3000, 1), 255, np.uint8)
    assert (AreaResizer((4000, 3000), (3, 2))(white) == 255).all()


def test_grey_is_the_luma_and_opacity_is_dropped() -> None:
    picture = np.random.default_rng(1).integers(0, 256, (30, 20, 4), np.uint8)
    red, green, blue = (picture[:, :, channel].astype(float) for channel in range(3))
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    assert grey(picture).shape == (30, 20, 1)
    assert grey(picture).dtype == np.uint8
    assert np.abs(grey(picture)[:, :, 0] - luma).max() < 0.51
    floats = (picture / 255).astype(np.float32)
    assert grey(floats).dtype == np.float32
    assert np.allclose(grey(floats)[:, :, 0], luma / 255, atol=1e-5)


def test_grey_bytes_are_those_of_pillow() -> None:
    image = pytest.importorskip("PIL.Image")
    picture = np.random.default_rng(2).integers(0, 256, (64, 64, 3), np.uint8)
    theirs = np.asarray(image.fromarray(picture).convert("L"))
    assert np.array_equal(grey(picture)[:, :, 0], theirs)
