"""Pixels in blocks and by our own kernel, against torch and against the plain convolution."""

import ctypes
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv2d

from pbt import native
from pbt.config.learning import ConvLayer
from pbt.models import pixels
from pbt.models.pixels import MOST_DEVIATIONS, Normal, block_side, prepare, weight_in_blocks

BF16 = torch.bfloat16
# (images, height, width, channels, side)
SHAPES = [
    (5, 72, 128, 3, 4),
    (3, 84, 84, 4, 4),
    (2, 8, 8, 1, 2),
    (2, 10, 15, 5, 5),
    (4, 6, 10, 3, 1),
    (1, 4, 700, 3, 4),
    (0, 8, 8, 3, 4),
    (1, 4, 2000, 1, 1),
]


def images(count: int, height: int, width: int, channels: int) -> Tensor:
    return torch.randint(
        0,
        256,
        (count, height, width, channels),
        dtype=torch.uint8,
        generator=torch.Generator().manual_seed(3),
    )


def normal_of(height: int, width: int, channels: int) -> Normal:
    """Some pixels leave the range on either side."""
    generator = torch.Generator().manual_seed(4)
    size = height * width * channels
    return torch.rand(size, generator=generator) * 0.2, -torch.rand(
        size, generator=generator
    ) * 30.0


@pytest.fixture
def torch_alone(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr(pixels, "pixel_blocks_bf16", lambda: None)


@pytest.fixture(params=["the best loop", "the plain loop"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel as this machine runs it, and as a machine without vector instructions does.

    Where it was not built torch is compared with itself.
    """
    best = native.pixel_blocks_bf16()
    if best is not None and request.param == "the plain loop":
        plain = ctypes.CDLL(
            native.__file__.replace("__init__.py", "pixels.so")
        ).pixel_blocks_bf16_plain
        plain.argtypes, plain.restype = best.argtypes, None  # type: ignore[attr-defined]
        monkeypatch.setattr(pixels, "pixel_blocks_bf16", lambda: plain)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernel_is_torch_bit_for_bit(
    shape: tuple[int, ...], normalised: bool, torch_alone: Callable[[], None]
) -> None:
    *size, side = shape
    seen, normal = images(*size), normal_of(*size[1:]) if normalised else None
    found = prepare(seen, BF16, normal, side)
    torch_alone()
    expected = prepare(seen, BF16, normal, side)
    assert (
        found.shape == expected.shape
        and found.stride() == expected.stride()
        and torch.equal(found, expected)
    )
    if normalised and seen.numel():
        assert (
            found.max() == MOST_DEVIATIONS
            and found.min() == -MOST_DEVIATIONS
            and found.unique().numel() > 30
        )


@pytest.mark.usefixtures("kernel")
def test_pixels_that_do_not_lie_in_a_row_are_the_same(torch_alone: Callable[[], None]) -> None:
    wide, normal = images(4, 8, 24, 3), normal_of(8, 12, 3)
    found = prepare(wide[:, :, 6:18], BF16, normal, 4)
    assert torch.equal(found, prepare(wide[:, :, 6:18].contiguous(), BF16, normal, 4))


@pytest.mark.parametrize("dtype", [torch.float32, BF16])
@pytest.mark.parametrize(
    "seen", [torch.rand(3, 8, 8, 3), images(3, 8, 8, 3)], ids=["floats", "bytes"]
)
def test_what_is_seen_is_not_changed(seen: Tensor, dtype: torch.dtype) -> None:
    before = seen.clone()
    prepare(seen, dtype, normal_of(8, 8, 3), 4)
    assert torch.equal(seen, before)


@pytest.mark.usefixtures("kernel")
def test_broken_statistics_stay_visible() -> None:
    factor, shift = normal_of(8, 8, 3)
    factor[5] = torch.nan
    assert int(prepare(images(2, 8, 8, 3), BF16, (factor, shift), 4).isnan().sum()) == 2


@pytest.mark.parametrize("kernel_size", [4, 8])
def test_a_convolution_over_blocks_is_the_convolution(kernel_size: int) -> None:
    seen, dtype = images(3, 24, 32, 3), torch.float64
    weight = torch.randn(
        6, 3, kernel_size, kernel_size, dtype=dtype, generator=torch.Generator().manual_seed(1)
    ).requires_grad_()
    plain = conv2d(seen.to(dtype).permute(0, 3, 1, 2), weight, stride=4)
    blocks = conv2d(prepare(seen, dtype, None, 4), weight_in_blocks(weight, 4), stride=1)
    assert torch.allclose(plain, blocks, rtol=1e-9)
    gradients = [
        torch.autograd.grad(result.square().sum(), weight)[0] for result in (plain, blocks)
    ]
    assert torch.allclose(*gradients, rtol=1e-9)


@pytest.mark.parametrize(
    ("layer", "size", "side"),
    [
        ((8, 4, 0), (72, 128, 3), 4),
        ((8, 4, 0), (84, 84, 4), 4),
        ((4, 2, 0), (6, 8, 1), 2),
        ((8, 4, 0), (70, 128, 3), 1),  # a row of blocks would be cut
        ((8, 4, 0), (72, 126, 3), 1),
        ((5, 4, 0), (72, 128, 3), 1),  # the kernel is no whole number of blocks
        ((8, 4, 2), (72, 128, 3), 1),
        ((3, 1, 0), (6, 7, 3), 1),
        ((8, 4, 0), (72, 128, 16), 1),  # enough channels as they are
    ],
)
def test_blocks_are_as_large_as_the_stride_where_everything_is_whole(
    layer: tuple[int, int, int], size: tuple[int, int, int], side: int
) -> None:
    kernel_size, stride, padding = layer
    assert (
        block_side(ConvLayer(channels=8, kernel=kernel_size, stride=stride, padding=padding), *size)
        == side
    )
