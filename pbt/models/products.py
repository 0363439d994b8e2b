"""Convolutions of small images as products of matrices.

A convolution of a board is over so soon that most of its time is spent on setting it up. Where its
input needs no gradient, or its kernel is one field, the same sums are one product: a row for every
place of the kernel, in which the fields under it stand one behind the other.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import conv2d, linear

MOST_FIELDS = 32 * 32
"""Of images that count as small."""


def convolve(
    images: Tensor,
    weight: Tensor,
    bias: Tensor,
    stride: int,
    activation: Callable[[Tensor], Tensor],
) -> Tensor:
    """`activation(conv2d(images, weight, bias, stride))`, up to rounding.

    images      [N, C, H, W], channels last in memory
    weight      [to, C, k, k], channels last in memory
    activation  works in place
    """
    to, channels, side, _ = weight.shape
    if side > 1 and images.requires_grad:
        return activation(conv2d(images, weight, bias, stride))
    fields = images.permute(0, 2, 3, 1).contiguous()
    places = fields if side == stride == 1 else _places(fields, side, stride)
    inputs = places.reshape(-1, side * side * channels)
    flat = weight.permute(0, 2, 3, 1).reshape(to, -1)
    # The activation comes before the shape: in place behind a view it would cost further copies.
    return activation(linear(inputs, flat, bias)).view(*places.shape[:3], to).permute(0, 3, 1, 2)


def _places(fields: Tensor, side: int, stride: int) -> Tensor:
    """The fields under a kernel at all its places, as a view.

    [N, H, W, C] -> [N, H', W', k, k * C]
    """
    count, height, width, channels = fields.shape
    down, right = (height - side) // stride + 1, (width - side) // stride + 1
    row = width * channels
    return torch.as_strided(
        fields,
        (count, down, right, side, side * channels),
        (height * row, stride * row, stride * channels, row, 1),
    )
