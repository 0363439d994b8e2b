"""Which leaves of an observation are images, and where their channels lie."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from pbt.envs.images import ImageShape, image_of
from pbt.envs.spaces import ObservationCodec


def image(space: spaces.Space[Any], *, channels_last: bool = True) -> ImageShape | None:
    (leaf,) = ObservationCodec(space).leaves
    return image_of(leaf, channels_last=channels_last)


def of_bytes(*shape: int) -> spaces.Box:
    return spaces.Box(0, 255, shape, np.uint8)


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (of_bytes(280, 480, 3), (280, 480, 3, 2)),
        (of_bytes(3, 84, 84), (84, 84, 3, 0)),
        (of_bytes(84, 84, 12), (84, 84, 12, 2)),
        (of_bytes(24, 84, 84), (84, 84, 24, 0)),
        (of_bytes(84, 84), (84, 84, 1, None)),
        (of_bytes(24, 24, 1), (24, 24, 1, 2)),
        (spaces.Box(0.0, 1.0, (32, 40, 3), np.float32), (32, 40, 3, 2)),
        (spaces.Box(-np.inf, np.inf, (32, 40, 3), np.float32), None),
        (spaces.Box(0, 10, (32, 40, 3), np.int32), None),
        (spaces.MultiBinary([32, 40, 3]), None),
        (of_bytes(23, 40, 3), None),
        (of_bytes(40, 3, 40), None),
        (of_bytes(6, 7, 2), None),
        (spaces.Box(0, 1, (8, 8, 111), np.uint8), None),
        (of_bytes(40 * 60 * 3), None),
        (of_bytes(4, 40, 60, 3), None),
    ],
)
def test_images_are_known_by_type_bounds_and_shape(
    space: spaces.Space[Any], expected: tuple[int, int, int, int | None] | None
) -> None:
    assert image(space) == expected


def test_a_shape_that_can_be_read_both_ways_is_read_as_the_config_says() -> None:
    space = of_bytes(30, 30, 28)
    assert image(space) == (30, 30, 28, 2)
    assert image(space, channels_last=False) == (30, 28, 30, 0)
