"""Flattened images: torch's numbers, and a gradient that lies in memory as the images do."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pbt.config.learning import ConvLayer, ModelConfig
from pbt.envs.contract import Role
from pbt.models.encoders import flatten
from pbt.models.policy_model import build_model
from pbt.transport.slab import role_layout


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


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_heads_right_behind_an_image_weigh_the_flattened_features(
    dtype: torch.dtype, channels_last: bool, padding: int
) -> None:
    """They read them in another order: a weight belongs to the same feature all the same."""
    shape = (6, 7, 2) if channels_last else (2, 6, 7)
    board = spaces.Box(0, 1, shape, np.int8)
    layout = role_layout(Role("seat", board, spaces.Discrete(7)), ("reward",), 4, 0)
    layers = ConvLayer(channels=5, kernel=3, padding=padding), ConvLayer(channels=8, kernel=1)
    config = ModelConfig(hidden=(), conv=layers, channels_last_input=channels_last)
    model = build_model(layout, config, 3, dtype)
    observations = {layout.leaves[0].name: torch.randint(0, 2, (20, *shape), dtype=torch.int8)}
    found = model._said(model._features(observations))
    features = model.encoder(observations).float()
    expected = torch.nn.functional.linear(features, model.heads.weight, model.heads.bias)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    one, other = (
        torch.autograd.grad(out.square().sum(), model.heads.weight)[0] for out in (found, expected)
    )
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    with torch.inference_mode():
        model.pack()
        packed = model._said(model._features(observations))
    torch.testing.assert_close(packed, expected.detach(), rtol=1e-5, atol=1e-5)
