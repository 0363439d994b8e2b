"""Networks that compute in bfloat16: when they do, and that what acts is what is trained."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn.functional import cosine_similarity

from pbt.config.learning import ConvLayer, ModelConfig
from pbt.envs.contract import Role
from pbt.models import precision
from pbt.models.packing import can_pack
from pbt.models.policy_model import ActOutput, PolicyModel, build_model
from pbt.models.precision import choose_dtype
from pbt.transport.slab import RoleLayout, role_layout
from tests.pbt.models.memories import MEMORIES, memory

ROWS, SLOTS = 12, 4
CONV = (ConvLayer(channels=8, kernel=8, stride=4), ConvLayer(channels=16, kernel=3, stride=2))
CONFIGS = {
    core: ModelConfig(conv=CONV, hidden=(64,), activation="elu", **memory(core, 64))
    for core in MEMORIES
}
CONFIG = CONFIGS["gru"]
CONFIGS["full"] = CONFIGS["lstm"].model_copy(update={"measurement_hidden": (16, 16)})
CPU, GPU = torch.device("cpu"), torch.device("cuda")
F32, BF16 = torch.float32, torch.bfloat16


def layout_of(height: int, width: int) -> RoleLayout:
    seen = spaces.Dict(
        {
            "screen": spaces.Box(0, 255, (height, width, 3), np.uint8),
            "variables": spaces.Box(-10.0, 10.0, (2,), np.float32),
        }
    )
    return role_layout(Role("player", seen, spaces.MultiDiscrete([3, 2])), ("reward",), 4, 0)


SCREEN = layout_of(36, 48)


# --- which dtype ----------------------------------------------------------------------------------


@pytest.fixture
def only_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU that has bfloat16, and a GPU that has not."""
    monkeypatch.setattr(precision, "has_bfloat16", lambda device: device.type == "cpu")


@pytest.mark.parametrize(
    ("word", "config", "layout", "devices", "expected"),
    [
        ("auto", CONFIG, SCREEN, (CPU,), BF16),
        ("auto", CONFIG, SCREEN, (CPU, GPU), F32),
        ("auto", CONFIG, layout_of(31, 32), (CPU,), F32),
        ("auto", CONFIG, layout_of(32, 32), (CPU,), BF16),
        ("auto", ModelConfig(conv=(), hidden=(64,)), SCREEN, (CPU,), F32),
        ("auto", CONFIG.model_copy(update={"encoder": "mlp"}), SCREEN, (CPU,), F32),
        ("bfloat16", ModelConfig(conv=(), hidden=(64,)), SCREEN, (GPU,), BF16),
        ("float32", CONFIG, SCREEN, (CPU,), F32),
    ],
)
@pytest.mark.usefixtures("only_cpu")
def test_auto_is_bfloat16_for_convolutions_over_images_where_all_devices_have_it(
    word: str,
    config: ModelConfig,
    layout: RoleLayout,
    devices: tuple[torch.device, ...],
    expected: torch.dtype,
) -> None:
    assert choose_dtype(word, config, layout.leaves, devices) is expected


@pytest.mark.usefixtures("only_cpu")
def test_channels_may_come_first() -> None:
    first = role_layout(
        Role("player", spaces.Box(0, 255, (3, 40, 40), np.uint8), spaces.Discrete(2)),
        ("reward",),
        4,
        0,
    )
    config = CONFIG.model_copy(update={"channels_last_input": False})
    assert choose_dtype("auto", config, first.leaves, (CPU,)) is BF16
    assert choose_dtype("auto", CONFIG, first.leaves, (CPU,)) is F32, (
        "three rows of forty pixels are no image"
    )


# --- acting and training --------------------------------------------------------------------------


@pytest.fixture(params=[*CONFIGS])
def config(request: pytest.FixtureRequest) -> ModelConfig:
    return CONFIGS[request.param]


def decided(config: ModelConfig, dtype: torch.dtype) -> PolicyModel:
    """A model that prefers some actions.

    A fresh one finds all actions almost equally likely, which hides every difference.
    """
    model = build_model(SCREEN, config, 1, dtype)
    with torch.no_grad():
        model.heads.weight[:-1] *= 200.0
    return model


def rows(model: PolicyModel) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor]:
    """(observations, mask, episode_start, state) of ROWS rows of SLOTS slots.

    An episode begins in the middle of one slot.
    """
    rng = torch.Generator().manual_seed(2)
    screens = torch.randint(0, 256, (ROWS, SLOTS, 36, 48, 3), generator=rng, dtype=torch.uint8)
    seen = {"screen": screens, "variables": torch.randn(ROWS, SLOTS, 2, generator=rng)}
    starts = torch.zeros(ROWS, SLOTS, dtype=torch.bool)
    starts[5, 1] = True
    leaves = {leaf.name: seen[leaf.name] for leaf in SCREEN.leaves}
    return (
        leaves,
        torch.ones(ROWS, SLOTS, SCREEN.actions.mask_size, dtype=torch.bool),
        starts,
        torch.randn(SLOTS, model.state_size, generator=rng),
    )


def same(one: ActOutput, other: ActOutput) -> bool:
    mine, theirs = one.named(), other.named()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)


def acted(model: PolicyModel) -> list[ActOutput]:
    """Step by step, each step given the memory of the one before."""
    leaves, mask, starts, state = rows(model)
    uniforms = torch.rand(
        ROWS, SLOTS, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64
    )
    found = []
    with torch.inference_mode():
        for t in range(ROWS):
            found.append(
                model.act(
                    {name: leaf[t] for name, leaf in leaves.items()},
                    mask[t],
                    starts[t],
                    state,
                    uniforms[t],
                )
            )
            state = found[-1].state
    return found


def unrolled(model: PolicyModel, actions: Tensor) -> tuple[Tensor, Tensor]:
    """(log-probabilities of the actions, values), both [ROWS, SLOTS]."""
    logits, values = model.unroll(*rows(model))
    flat = model.distribution(logits.flatten(0, 1)).log_prob(actions.flatten(0, 1))
    return flat.view(ROWS, SLOTS), values


@pytest.mark.parametrize(("dtype", "tolerance"), [(F32, 1e-5), (BF16, 2e-2)])
def test_what_acts_with_fixed_weights_is_what_is_trained(
    config: ModelConfig, dtype: torch.dtype, tolerance: float
) -> None:
    acting = decided(config, dtype)
    acting.fix_dtype()
    steps = acted(acting)
    log_probs, values = unrolled(
        decided(config, dtype), torch.stack([step.actions for step in steps])
    )
    acted_log_probs = torch.stack([step.columns["log_prob"] for step in steps])
    assert acted_log_probs.std() > 0.1, "a policy with opinions"
    ratios = (log_probs - acted_log_probs).exp()
    assert (ratios - 1.0).abs().max() < tolerance
    assert (
        values - torch.stack([step.columns["value"] for step in steps])
    ).abs().max() < tolerance * values.abs().max()


def test_weights_that_were_fixed_act_alike_to_the_bit(config: ModelConfig) -> None:
    fixed = decided(config, BF16)
    fixed.fix_dtype()
    assert {weight.dtype for weight in fixed.parameters()} == {F32, BF16}
    for one, other in zip(acted(decided(config, BF16)), acted(fixed), strict=True):
        assert same(one, other)


def test_packed_weights_act_alike_to_the_bit_until_they_change(config: ModelConfig) -> None:
    packed, plain = decided(config, BF16), decided(config, BF16)
    for model in (packed, plain):
        model.fix_dtype()
    packed.pack()
    for change in (1.0, 0.5):
        with torch.no_grad():
            for model in (packed, plain):
                for weight in model.parameters():
                    weight *= change
        stale = any(
            not torch.equal(one.state, other.state)
            for one, other in zip(acted(packed), acted(plain), strict=True)
        )
        # Convolutions are laid out on every CPU, products where it multiplies bfloat16 itself.
        assert stale == (change != 1.0), "the packed weights are those of the last pack()"
        packed.pack()
        for one, other in zip(acted(packed), acted(plain), strict=True):
            assert same(one, other)


def test_what_never_changes_keeps_its_packed_weights_alone_and_acts_alike_to_the_bit(
    config: ModelConfig,
) -> None:
    lean, plain = decided(config, BF16), decided(config, BF16)
    for model in (lean, plain):
        model.fix_dtype()
        model.pack()
    lean.keep_packed()
    for one, other in zip(acted(lean), acted(plain), strict=True):
        assert same(one, other)
    gone = {name for name, weight in lean.named_parameters() if not weight.numel()}
    products = {
        name
        for name, weight in plain.named_parameters()
        if can_pack(weight)
        and name.startswith(("hidden", "measurements", "core"))
        and "weight" in name
    }
    assert gone == products, "on a CPU without bfloat16 nothing was laid out anew"


def test_gradients_in_bfloat16_point_where_those_in_float32_do(config: ModelConfig) -> None:
    actions = torch.stack([step.actions for step in acted(decided(config, F32))])
    advantages = torch.randn(ROWS, SLOTS, generator=torch.Generator().manual_seed(4))

    def gradient(dtype: torch.dtype) -> dict[str, Tensor]:
        model = decided(config, dtype)
        log_probs, values = unrolled(model, actions)
        (-(advantages * log_probs).mean() + 0.5 * (values - advantages).square().mean()).backward()
        return {
            name: weight.grad.flatten()
            for name, weight in model.named_parameters()
            if weight.grad is not None
        }

    exact, narrow = gradient(F32), gradient(BF16)
    assert exact.keys() == narrow.keys() == dict(decided(config, F32).named_parameters()).keys()
    assert {weight.dtype for weight in narrow.values()} == {F32}
    assert cosine_similarity(torch.cat([*exact.values()]), torch.cat([*narrow.values()]), 0) > 0.99
    for name, weight in exact.items():
        assert cosine_similarity(weight, narrow[name], 0) > 0.98, name
