"""Images among the leaves of an observation: which leaf is one, and where its channels lie."""

from typing import NamedTuple

import numpy as np

from pbt.envs.spaces import Leaf

# Boards are smaller: go has 19 points to a side.
LEAST_SIDE = 24
# More channels than ten coloured pictures that lie behind one another, which `env.stack` gives.
MOST_CHANNELS = 32


class ImageShape(NamedTuple):
    """The shape of an image.

    channel_axis  0: channels first; 2: channels last; None: a leaf of rank 2 with one channel
    """

    height: int
    width: int
    channels: int
    channel_axis: int | None


def shaped(shape: tuple[int, ...], channel_axis: int | None) -> ImageShape:
    """The shape of a leaf, read with its channels at this axis."""
    if channel_axis is None:
        height, width = shape
        return ImageShape(height, width, 1, None)
    height, width = (side for axis, side in enumerate(shape) if axis != channel_axis)
    return ImageShape(height, width, shape[channel_axis], channel_axis)


def image_of(leaf: Leaf, *, channels_last: bool = True) -> ImageShape | None:
    """The image that the leaf is, None where it is none.

    An image holds bytes or floats between bounds, has rank 3 (or 2, with one channel), and both its
    sides are LEAST_SIDE or more. So planes of a board are none.

    channels_last  how a shape is read that could be read both ways
    """
    bounded = bool(np.isfinite([leaf.low, leaf.high]).all())
    numbers = leaf.dtype == np.uint8 or (leaf.dtype.kind == "f" and bounded)
    if leaf.kind != "box" or not numbers or len(leaf.shape) not in (2, 3):
        return None
    axes = (None,) if len(leaf.shape) == 2 else (2, 0) if channels_last else (0, 2)
    images = (shaped(leaf.shape, axis) for axis in axes)
    return next((image for image in images if _is_image(image)), None)


def _is_image(image: ImageShape) -> bool:
    return min(image.height, image.width) >= LEAST_SIDE and 1 <= image.channels <= MOST_CHANNELS
