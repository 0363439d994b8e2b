"""Small convolutions as products: the sums of torch's convolution, and its gradients."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv2d

from pbt.models.products import convolve

# (channels, height, width, kernel, stride)
SHAPES = [(2, 6, 7, 4, 1), (2, 6, 7, 1, 1), (3, 9, 8, 3, 2), (1, 5, 5, 5, 1), (4, 8, 6, 1, 2)]
TO = 5


def made(channels: int, height: int, width: int, side: int) -> tuple[Tensor, Tensor, Tensor]:
    """Images with channels last, weights and bias."""
    drawn = torch.Generator().manual_seed(side)
    images = torch.randn(7, height, width, channels, generator=drawn).permute(0, 3, 1, 2)
    weight = torch.randn(TO, channels, side, side, generator=drawn)
    return images, weight, torch.randn(TO, generator=drawn)


def both(
    images: Tensor, weight: Tensor, bias: Tensor, stride: int
) -> tuple[list[Tensor], list[Tensor]]:
    """(result, gradients) of the product and of torch's convolution."""
    found = []
    for product in (True, False):
        own = [tensor.detach().clone().requires_grad_() for tensor in (weight, bias)]
        seen = images.detach().clone().requires_grad_(images.requires_grad)
        laid = own[0].to(memory_format=torch.channels_last)
        result = (
            convolve(seen, laid, own[1], stride, 0, torch.relu_)
            if product
            else torch.relu(conv2d(seen, laid, own[1], stride))
        )
        told = torch.arange(result.numel()).view(result.shape).sin()
        inputs = [*own, seen] if images.requires_grad else own
        found.append([result.detach(), *torch.autograd.grad((result * told).sum(), inputs)])
    return found[0], found[1]


@pytest.mark.parametrize(("channels", "height", "width", "side", "stride"), SHAPES)
@pytest.mark.parametrize("behind", [False, True])
def test_products_are_convolutions(
    channels: int, height: int, width: int, side: int, stride: int, behind: bool
) -> None:
    """behind: the images come from a layer, so they need a gradient as well."""
    images, weight, bias = made(channels, height, width, side)
    ours, torchs = both(images.requires_grad_(behind), weight, bias, stride)
    for own, other in zip(ours, torchs, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-4)
    assert ours[0].is_contiguous(memory_format=torch.channels_last)


def test_images_in_any_order_are_read_right() -> None:
    images, weight, bias = made(2, 6, 7, 4)
    first = images.contiguous()
    part = torch.cat([images, images])[3:8]
    for seen, same in ((first, images), (part, torch.cat([images, images])[3:8].contiguous())):
        torch.testing.assert_close(
            convolve(seen, weight, bias, 1, 0, torch.relu_), torch.relu(conv2d(same, weight, bias))
        )


def test_a_row_does_not_depend_on_the_others() -> None:
    images, weight, bias = made(2, 6, 7, 4)
    many = torch.cat([images] * 40)
    whole = convolve(many, weight, bias, 1, 0, torch.relu_)
    for count in (1, 2, 3, 5, 7, 16, 33, 100, 255):
        own = convolve(many[:count], weight, bias, 1, 0, torch.relu_)
        assert torch.equal(own, whole[:count]), count
