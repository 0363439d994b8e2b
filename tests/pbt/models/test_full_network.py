"""The full network of Petrenko et al. 2020 (figure A.1) against twins of plain torch."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor, nn

from pbt.config.learning import ConvLayer, ModelConfig
from pbt.envs.contract import Role
from pbt.errors import ConfigError
from pbt.models.convolutions import decided, model_problems
from pbt.models.policy_model import PolicyModel, build_model
from pbt.transport.slab import RoleLayout, role_layout
from tests.pbt.models.memories import memory

HEADS, NUMBERS, ROWS, SLOTS = (3, 3, 2, 2, 2, 8, 21), 22, 5, 2
SCREEN = spaces.Box(0, 255, (72, 128, 3), np.uint8)
VARIABLES = spaces.Box(-10.0, 10.0, (NUMBERS,), np.float32)
BOTH = spaces.Dict({"screen": SCREEN, "variables": VARIABLES})
CONV = (
    ConvLayer(channels=32, kernel=8, stride=4),
    ConvLayer(channels=64, kernel=4, stride=2),
    ConvLayer(channels=128, kernel=3, stride=2),
)


def layout_of(space: spaces.Space[Any]) -> RoleLayout:
    return role_layout(Role("player", space, spaces.MultiDiscrete(HEADS)), ("reward",), ROWS, 0)


def full(core: str, **changes: Any) -> ModelConfig:
    plain = ModelConfig(
        conv=CONV,
        hidden=(512,),
        measurement_hidden=(128, 128),
        activation="elu",
        **memory(core, 512),
    )
    return plain.model_copy(update=changes)


class Twin(nn.Module):
    """Its parameters stand in the order of those of `PolicyModel`."""

    def __init__(self, core: str) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after, kernel, stride in ((3, 32, 8, 4), (32, 64, 4, 2), (64, 128, 3, 2)):
            layers += [nn.Conv2d(before, after, kernel, stride), nn.ELU()]
        self.convolutions = nn.Sequential(*layers, nn.Flatten(), nn.Linear(2304, 512), nn.ELU())
        self.measurements = nn.Sequential(
            nn.Linear(NUMBERS, 128), nn.ELU(), nn.Linear(128, 128), nn.ELU()
        )
        kinds = {"gru": nn.GRU, "lstm": nn.LSTM}
        self.core = kinds[core](512 + 128, 512) if core in kinds else None
        self.heads = nn.Linear(512 if self.core else 512 + 128, sum(HEADS) + 1)

    def forward(self, screens: Tensor, variables: Tensor) -> Tensor:
        """[T, B, ...] -> [T, B, outputs], from an empty memory on."""
        rows = screens.shape[:2]
        seen = self.convolutions(screens.flatten(0, 1).permute(0, 3, 1, 2) / 255.0)
        joined = torch.cat([seen, self.measurements(variables.flatten(0, 1))], 1).view(*rows, -1)
        out: Tensor = self.heads(joined if self.core is None else self.core(joined)[0])
        return out


def seen() -> dict[str, Tensor]:
    rng = torch.Generator().manual_seed(0)
    shape = (ROWS, SLOTS, *(SCREEN.shape or ()))
    return {
        "screen": torch.randint(0, 256, shape, generator=rng, dtype=torch.uint8),
        "variables": torch.randn(ROWS, SLOTS, NUMBERS, generator=rng),
    }


def as_twin(model: PolicyModel, core: str) -> Twin:
    """A twin with the model's weights. Heads are scaled up, so that differences show."""
    twin = Twin(core)
    with torch.no_grad():
        model.heads.weight *= 30.0
        for theirs, ours in zip(twin.parameters(), model.parameters(), strict=True):
            theirs.copy_(ours)
    return twin


@pytest.mark.parametrize("core", ["none", "gru", "lstm"])
def test_parameters_outputs_and_gradients_are_those_of_plain_torch(core: str) -> None:
    layout, observations = layout_of(BOTH), seen()
    model = build_model(layout, full(core), 1)
    twin = as_twin(model, core)
    size = sum(parameter.numel() for parameter in model.parameters())
    assert size == sum(parameter.numel() for parameter in twin.parameters())
    # Convolutions, fc, measurements, core, and heads of 41 choices and a value.
    gates = {"none": 0, "gru": 3, "lstm": 4}[core]
    assert size == (
        (3 * 64 * 32 + 32) + (32 * 16 * 64 + 64) + (64 * 9 * 128 + 128)
        + (2304 * 512 + 512) + (22 * 128 + 128) + (128 * 128 + 128)
        + gates * (640 * 512 + 512 * 512 + 2 * 512) + (512 if gates else 640) * 42 + 42
    )  # fmt: skip
    start = torch.zeros(ROWS, SLOTS, dtype=torch.bool)
    start[0] = True
    mask = torch.ones(ROWS, SLOTS, sum(HEADS), dtype=torch.bool)
    unknown = torch.full((SLOTS, model.state_size), torch.nan)
    logits, values = model.unroll(observations, mask, start, unknown)
    found = torch.cat([logits, values.unsqueeze(-1)], -1)
    expected = twin(observations["screen"], observations["variables"])
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(3))
    grads = torch.autograd.grad((found * weights).sum(), list(model.parameters()))
    theirs = torch.autograd.grad((expected * weights).sum(), list(twin.parameters()))
    for one, two in zip(grads, theirs, strict=True):
        scale = float(two.abs().max())
        torch.testing.assert_close(one / scale, two / scale, atol=1e-4, rtol=1e-3)


def drawn_in_order(model: PolicyModel, seed: int) -> dict[str, Tensor]:
    """First weights of a network of convolutions, hidden layers and a GRU, drawn by hand."""
    generator = torch.Generator().manual_seed(seed)
    drawn: dict[str, Tensor] = {}
    shapes = {name: tensor.shape for name, tensor in model.named_parameters()}
    for name, shape in shapes.items():
        if "bias" in name or name.startswith("heads"):
            continue
        weight = torch.empty(shape)
        parts = weight.chunk(3) if name.startswith("core") else [weight]
        gain = 1.0 if name.startswith("core") else nn.init.calculate_gain("relu")
        for part in parts:
            nn.init.orthogonal_(part, gain, generator)
        drawn[name] = weight
    heads = torch.empty(shapes["heads.weight"])
    nn.init.orthogonal_(heads[:-1], 0.01, generator)
    nn.init.orthogonal_(heads[-1:], 1.0, generator)
    return drawn | {"heads.weight": heads}


def test_without_layers_of_their_own_measurements_join_in_front_of_the_hidden_ones() -> None:
    """Names, shapes, and the order in which first weights are drawn are those of old snapshots."""
    model = build_model(layout_of(BOTH), full("gru", measurement_hidden=()), 5)
    names = [name for name, _ in model.named_parameters() if "weight" in name]
    assert names == [
        *(f"encoder.parts.0.layers.{index}.weight" for index in range(3)),
        "hidden.0.weight",
        "core.weight_ih",
        "core.weight_hh",
        "heads.weight",
    ]
    assert model.state_dict()["hidden.0.weight"].shape == (512, 2304 + NUMBERS)
    for name, weight in drawn_in_order(model, 5).items():
        assert torch.equal(model.state_dict()[name], weight), name


def test_a_role_without_both_has_no_layers_of_their_own_and_a_game_without_any_is_refused() -> None:
    config = full("gru")
    roles = {name: layout_of(space) for name, space in (("image", SCREEN), ("numbers", VARIABLES))}
    for layout in roles.values():
        model = build_model(layout, config, 1)
        assert not list(model.measurements.parameters())
        expected = build_model(layout, full("gru", measurement_hidden=()), 1).state_dict()
        assert all(torch.equal(expected[name], own) for name, own in model.state_dict().items())
    decided(config, [roles["image"], layout_of(BOTH)])
    with pytest.raises(ConfigError, match=r"model\.measurement_hidden = \[128, 128\].*beside an"):
        decided(config, list(roles.values()))


def test_the_sizes_that_are_checked_are_those_that_are_built() -> None:
    wide = spaces.Dict({"screen": SCREEN, "variables": spaces.Box(-1, 1, (400_000,), np.float32)})
    config = full("lstm", hidden=())
    (problem,) = model_problems(config, [layout_of(wide)])
    assert "(400,000 inputs x 128)" in problem
    huge = full("lstm", hidden=(), lstm_size=300, conv=CONV[:1])
    model = PolicyModel(layout_of(BOTH), huge)
    assert model.core is not None
    outputs, inputs = model.core.weight_ih.shape
    (problem,) = model_problems(huge, [layout_of(BOTH)])
    assert f"({inputs:,} inputs x {outputs:,})" in problem and inputs == 32 * 17 * 31 + 128
