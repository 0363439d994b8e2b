"""Pictures of a film: where tiles stand, what is written on them."""

import numpy as np
import pytest

from pbt.film.picture import Painter, Picture, Tile, as_rgb, columns_of

RED, GREEN, BLUE, YELLOW, WHITE = (
    (200, 30, 30),
    (30, 200, 30),
    (30, 30, 200),
    (200, 200, 30),
    (240, 240, 240),
)
COLOURS = (RED, GREEN, BLUE, YELLOW, WHITE)


def flat(colour: tuple[int, int, int], height: int = 10, width: int = 20) -> Picture:
    return np.full((height, width, 3), colour, np.uint8)


@pytest.mark.parametrize(
    ("tiles", "columns"), [(1, 1), (2, 2), (3, 2), (4, 2), (5, 3), (9, 3), (10, 4), (16, 4)]
)
def test_two_stand_side_by_side_and_more_in_a_grid(tiles: int, columns: int) -> None:
    assert columns_of(tiles) == columns


@pytest.mark.parametrize("tiles", [1, 2, 3, 5])
def test_every_tile_stands_in_its_cell_row_by_row(tiles: int) -> None:
    painter = Painter(tiles, 10, 20, scale=12)
    picture = painter.paint([Tile(flat(colour), "", "") for colour in COLOURS[:tiles]], "")
    width, height = painter.size
    assert picture.shape == (height, width, 3) and not width % 2 and not height % 2
    for place in range(tiles):
        row, column = divmod(place, columns_of(tiles))
        centre = picture[row * 124 + 60, column * 244 + 120]
        assert tuple(centre) == COLOURS[place]


def test_pixels_are_enlarged_and_not_mixed() -> None:
    image = np.random.default_rng(1).integers(0, 256, (30, 40, 3), np.uint8)
    painter = Painter(1, 30, 40, scale=6)
    picture = painter.paint([Tile(image, "", "")], "")
    large = image.repeat(6, 0).repeat(6, 1)
    # Below the shade that the text stands on.
    assert np.array_equal(picture[24:180, :240], large[24:])
    assert picture[:14].mean() < large[:14].mean() * 0.6


def test_names_and_scores_stand_on_their_own_tile() -> None:
    painter = Painter(2, 72, 128)
    tiles = [Tile(flat(RED, 72, 128), "a", "points 1"), Tile(flat(GREEN, 72, 128), "b", "points 2")]
    before = painter.paint(tiles, "0:01.0")
    after = painter.paint([tiles[0], Tile(tiles[1].image, "b", "points 3")], "0:01.0")
    changed = np.argwhere((before != after).any(2))
    (top, left), (bottom, right) = changed.min(0), changed.max(0)
    assert painter.size == (2 * 512 + 4, 288 + 24)
    assert 0 <= top <= bottom < 24 and 516 + 256 < left <= right < 516 + 512
    clock = np.argwhere((before != painter.paint(tiles, "0:02.0")).any(2))
    assert clock[:, 0].min() >= 288


def test_a_long_name_leaves_room_for_the_score() -> None:
    painter, image = Painter(1, 72, 128), flat(BLUE, 72, 128)
    long, short = (painter.paint([Tile(image, name, "points 12")], "") for name in ("n" * 500, "n"))
    assert np.array_equal(long[:, 430:], short[:, 430:]) and not np.array_equal(
        long[:24, 300:420], short[:24, 300:420]
    )


def test_a_seat_that_has_seen_nothing_is_dark() -> None:
    picture = Painter(1, 10, 20, scale=12).paint([Tile(None, "a", "")], "")
    assert picture[30:110].max() < 40


def test_images_of_one_three_and_four_channels() -> None:
    rgba = np.random.default_rng(2).integers(0, 256, (5, 6, 4), np.uint8)
    assert np.array_equal(as_rgb(rgba), rgba[:, :, :3])
    assert np.array_equal(as_rgb(rgba[:, :, :3]), rgba[:, :, :3])
    grey = as_rgb(rgba[:, :, :1])
    assert all(np.array_equal(grey[:, :, channel], rgba[:, :, 0]) for channel in range(3))
