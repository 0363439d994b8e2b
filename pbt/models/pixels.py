"""Prepares pixels for the first convolution.

Bytes become the network's numbers, normalised where that is asked for, and laid out as the
convolution reads them fastest. A convolution with stride b over three channels leaves most of a
CPU's vector unit idle. The same sums come out of one with stride 1 over 3 b² channels, in which b x
b pixels lie behind each other ("space to depth"): images and weights are laid out in such blocks.
"""

import torch
from torch import Tensor

from pbt.config.learning import ConvLayer
from pbt.native import pixel_blocks_bf16

# Normalised pixels are clipped at this.
MOST_DEVIATIONS = 5.0
# With this many channels a convolution is as fast without blocks.
_MANY_CHANNELS = 16
# The same as LINE of pixels.c.
_LONGEST_RUN = 2048

Normal = tuple[Tensor, Tensor]
"""(factor, shift), each [H * W * C] float32: a normal pixel is x * factor + shift."""


def block_side(layer: ConvLayer, height: int, width: int, channels: int) -> int:
    """The side of the blocks that a first layer reads.

    It is the layer's stride where image and kernel are whole blocks of it; 1 where they are not, or
    where nothing is to be gained.
    """
    side = layer.stride
    whole = not (height % side or width % side or layer.kernel % side or layer.padding)
    return side if whole and channels < _MANY_CHANNELS else 1


def prepare(images: Tensor, dtype: torch.dtype, normal: Normal | None, side: int) -> Tensor:
    """[N, H, W, C] -> [N, side * side * C, H / side, W / side] in dtype, channels last in memory.

    Channel (y * side + x) * C + c is channel c of the pixel at (y, x) in its block. Normalised
    pixels are clipped at MOST_DEVIATIONS.
    """
    count, height, width, channels = images.shape
    row, run = width * channels, width * channels if side == 1 else side * channels
    kernel = pixel_blocks_bf16()
    bytes_in_order = images.dtype == torch.uint8 and images.is_cpu and images.is_contiguous()
    if kernel is not None and dtype == torch.bfloat16 and bytes_in_order and run <= _LONGEST_RUN:
        blocks = torch.empty(
            count, height // side, width // side, side * side * channels, dtype=dtype
        )
        factor, shift = (None, None) if normal is None else (part.data_ptr() for part in normal)
        kernel(
            images.data_ptr(),
            factor,
            shift,
            MOST_DEVIATIONS,
            blocks.data_ptr(),
            count,
            height,
            row,
            side,
            run,
        )
        return blocks.permute(0, 3, 1, 2)
    if normal is not None:
        # Not in place: `flat` is the batch itself where images are float32 already.
        flat = images.flatten(1).to(torch.float32)
        images = (
            (flat * normal[0])
            .add_(normal[1])
            .clamp_(-MOST_DEVIATIONS, MOST_DEVIATIONS)
            .view(images.shape)
        )
    return _in_blocks(images.to(dtype), side)


def weight_in_blocks(weight: Tensor, side: int) -> Tensor:
    """[to, C, k, k] -> [to, side * side * C, k / side, k / side].

    For images of `prepare` and stride 1.
    """
    if side == 1:
        return weight
    to, channels, height, width = weight.shape
    blocks = weight.view(to, channels, height // side, side, width // side, side)
    return blocks.permute(0, 3, 5, 1, 2, 4).reshape(
        to, side * side * channels, height // side, width // side
    )


def _in_blocks(images: Tensor, side: int) -> Tensor:
    if side == 1:
        return images.permute(0, 3, 1, 2)
    count, height, width, channels = images.shape
    blocks = images.view(count, height // side, side, width // side, side * channels)
    return (
        blocks.transpose(2, 3)
        .reshape(count, height // side, width // side, side * side * channels)
        .permute(0, 3, 1, 2)
    )
