"""Flattened images: torch's numbers, and a gradient that lies in memory as the images do."""

import pytest
import torch

from pbt.models.encoders import flatten


@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_numbers_and_gradient_are_those_of_torch(
    memory: torch.memory_format, dtype: torch.dtype
) -> None:
    images = torch.randn(5, 3, 4, 2).to(dtype).contiguous(memory_format=memory).requires_grad_()
    weights = torch.randn(5, 24).to(dtype)
    found, expected = flatten(images), images.flatten(1)
    assert torch.equal(found, expected)
    (gradient,) = torch.autograd.grad((found * weights).sum(), images)
    (reference,) = torch.autograd.grad((expected * weights).sum(), images)
    assert torch.equal(gradient, reference)
    assert gradient.is_contiguous(memory_format=memory)
