"""Products of matrices on a CPU: of few rows, and in place of small convolutions.

A convolution of a small board is over so soon that most of its time is spent on setting it up.
Where its input needs no gradient, or its kernel is one field, the same sums are one product: a row
for every place of the kernel, in which the fields under it stand one behind the other.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import conv2d, linear

LEAST_ROWS = 16
"""Some CPUs compute a product of fewer rows in another way than one of more, to other last bits.
Acting therefore computes at least so many: what a network says of a row depends on that row alone.
"""
# Numbers in the rows of one image, up to which a product is faster than a convolution.
_MOST_NUMBERS = 512


def padded(rows: Tensor, multiple: int = 1) -> Tensor:
    """The rows, [N, ...], repeated where they are too few on a CPU: at least LEAST_ROWS of them.

    multiple: their number is to be one of it. Activations are computed for several numbers at
    once, and what is left over in another way.
    """
    count = max(LEAST_ROWS, -(-len(rows) // multiple) * multiple)
    enough = len(rows) >= count
    enough = enough or not len(rows) or not rows.is_cpu
    return rows if enough else rows[torch.arange(count) % len(rows)]


def _pays(images: Tensor, side: int, stride: int) -> bool:
    """Whether a convolution without padding is faster as a product, however many images come."""
    _, channels, height, width = images.shape
    places = ((height - side) // stride + 1) * ((width - side) // stride + 1)
    few = side == stride == 1 or places * side * side * channels <= _MOST_NUMBERS
    return few and images.is_cpu and images.dtype == torch.float32


def convolve(
    images: Tensor,
    weight: Tensor,
    bias: Tensor,
    stride: int,
    padding: int,
    activation: Callable[[Tensor], Tensor],
) -> Tensor:
    """`activation(conv2d(images, weight, bias, stride, padding))`, up to rounding.

    images      [N, C, H, W], channels last in memory
    weight      [to, C, k, k], channels last in memory
    activation  works in place
    """
    to, channels, side, _ = weight.shape
    slower = padding or not _pays(images, side, stride)
    if slower or (side > 1 and images.requires_grad):
        return activation(conv2d(images, weight, bias, stride, padding))
    fields = images.permute(0, 2, 3, 1).contiguous()
    places = fields if side == stride == 1 else _places(fields, side, stride)
    inputs = places.reshape(-1, side * side * channels)
    flat = weight.permute(0, 2, 3, 1).reshape(to, -1)
    # The activation comes before the shape: in place behind a view it would cost further copies.
    outputs = activation(linear(padded(inputs), flat, bias))
    if len(outputs) > len(inputs):  # a slice would cost a copy of the gradient
        outputs = outputs[: len(inputs)]
    return outputs.view(*places.shape[:3], to).permute(0, 3, 1, 2)


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
