"""Networks: initialisation, encoders, and acting equal to unrolling."""

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from scipy.stats import norm

from pbt.config.learning import ConvLayer, ModelConfig
from pbt.envs.contract import Role
from pbt.errors import ConfigError
from pbt.models.encoders import integer_scale
from pbt.models.policy_model import PolicyModel, build_model
from pbt.transport.slab import RoleLayout, role_layout
from tests.pbt.models.memories import memory

BOARD = spaces.Box(0, 1, (6, 7, 2), np.int8)
MIXED = spaces.Dict(
    {
        "screen": spaces.Box(0, 255, (12, 10, 3), np.uint8),
        "ammo": spaces.Box(-np.inf, np.inf, (3,), np.float32),
        "weapon": spaces.Discrete(4),
    }
)
CONV = (ConvLayer(channels=8, kernel=4, stride=2), ConvLayer(channels=16, kernel=3))


def layout(observation: gymnasium.Space[Any], action: gymnasium.Space[Any]) -> RoleLayout:
    return role_layout(Role("player", observation, action), ("reward",), 4, 0)


def observe(space_layout: RoleLayout, *lead: int, seed: int = 0) -> dict[str, torch.Tensor]:
    rng = np.random.default_rng(seed)
    found = {}
    for leaf in space_layout.leaves:
        if leaf.kind == "onehot":
            values = np.stack([rng.integers(0, n, lead) for n in leaf.sizes], -1)
        elif leaf.dtype.kind == "f":
            values = rng.normal(size=(*lead, *leaf.shape))
        else:
            values = rng.integers(int(leaf.low), int(leaf.high) + 1, (*lead, *leaf.shape))
        found[leaf.name] = torch.from_numpy(np.asarray(values).astype(leaf.dtype))
    return found


CASES = {
    "board": (BOARD, spaces.Discrete(7), ModelConfig(hidden=(32, 32))),
    "board, gru, tanh": (
        BOARD,
        spaces.Discrete(7),
        ModelConfig(hidden=(32,), activation="tanh", **memory("gru", 16)),
    ),
    "board, conv": (
        BOARD,
        spaces.Discrete(7),
        ModelConfig(hidden=(32,), conv=(ConvLayer(channels=8, kernel=3, padding=1),)),
    ),
    "board, lstm, no hidden layer": (
        BOARD,
        spaces.Discrete(7),
        ModelConfig(hidden=(), **memory("lstm", 16)),
    ),
    "mixed, conv, gru, heads": (
        MIXED,
        spaces.MultiDiscrete([3, 2, 4]),
        ModelConfig(hidden=(32,), conv=CONV, **memory("gru", 16)),
    ),
    "mixed, conv, lstm, heads": (
        MIXED,
        spaces.MultiDiscrete([3, 2, 4]),
        ModelConfig(hidden=(32,), conv=CONV, **memory("lstm", 16)),
    ),
    "mixed, conv, gru, numbers": (
        MIXED,
        spaces.Box(-1.0, 1.0, (2,)),
        ModelConfig(hidden=(32,), conv=CONV, **memory("gru", 16)),
    ),
    "board, choices and numbers": (
        BOARD,
        spaces.Tuple((spaces.Box(-1.0, 1.0, (2,)), spaces.MultiDiscrete([3, 2]))),
        ModelConfig(hidden=(32,)),
    ),
    "mixed, flat, normalised": (
        MIXED,
        spaces.MultiDiscrete([3, 2]),
        ModelConfig(hidden=(), normalize_observations=True, activation="elu"),
    ),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request: pytest.FixtureRequest) -> tuple[RoleLayout, ModelConfig]:
    observation, action, config = request.param
    return layout(observation, action), config


def test_initialisation_depends_on_the_seed_alone(case: tuple[RoleLayout, ModelConfig]) -> None:
    before = torch.get_rng_state()
    torch.manual_seed(1)
    one = build_model(*case, seed=5).state_dict()
    torch.manual_seed(2)
    state = torch.get_rng_state()
    two = build_model(*case, seed=5).state_dict()
    assert torch.equal(state, torch.get_rng_state())
    torch.set_rng_state(before)
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)
    other = build_model(*case, seed=6).state_dict()
    assert not torch.equal(one["heads.weight"], other["heads.weight"])


def test_shapes_dtypes_and_a_nearly_uniform_start(case: tuple[RoleLayout, ModelConfig]) -> None:
    space_layout, config = case
    model = build_model(*case, seed=1)
    spec = space_layout.actions
    with torch.inference_mode():
        out = model.act(
            observe(space_layout, 5),
            torch.ones(5, spec.mask_size, dtype=torch.bool),
            torch.ones(5, dtype=torch.bool),
            torch.zeros(5, model.state_size),
            torch.rand(5, spec.width, dtype=torch.float64),
        )
    expected = torch.from_numpy(np.zeros((5, spec.width), spec.dtype))
    assert (out.actions.shape, out.actions.dtype) == (expected.shape, expected.dtype)
    log_prob, value = out.columns["log_prob"], out.columns["value"]
    assert (log_prob.shape, log_prob.dtype) == ((5,), torch.float32)
    assert (value.shape, value.dtype) == ((5,), torch.float32)
    kept = {"none": 0, "gru": 16, "lstm": 32}[config.core]
    assert (out.state.shape, out.state.dtype) == ((5, kept), torch.float32)
    assert kept == model.state_size == config.state_size
    uniform = -float(np.log(spec.choices).sum())
    numbers = out.actions[:, len(spec.choices) :].double().numpy()
    assert np.abs(log_prob.numpy() - uniform - norm.logpdf(numbers).sum(1)).max() < 0.3


def test_trap_acting_step_by_step_equals_unrolling_the_slot(
    case: tuple[RoleLayout, ModelConfig],
) -> None:
    """The state at row 0 and the episode starts give the learner the states that acted."""
    space_layout, _ = case
    model = build_model(*case, seed=2)
    torch.nn.init.normal_(model.heads.weight, std=0.5, generator=torch.Generator().manual_seed(0))
    rows, slots = 6, 4
    rng = torch.Generator().manual_seed(1)
    observations = observe(space_layout, rows, slots)
    mask = torch.rand(rows, slots, space_layout.actions.mask_size, generator=rng) < 0.7
    start = torch.rand(rows, slots, generator=rng) < 0.3
    initial = torch.randn(slots, model.state_size, generator=rng)
    with torch.inference_mode():
        outputs, values = model.unroll(observations, mask, start, initial)
        state = initial
        for t in range(rows):
            uniforms = torch.rand(
                slots, space_layout.actions.width, generator=rng, dtype=torch.float64
            )
            out = model.act(
                {name: leaf[t] for name, leaf in observations.items()},
                mask[t],
                start[t],
                state,
                uniforms,
            )
            state = out.state
            torch.testing.assert_close(out.columns["value"], values[t], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(
                out.columns["log_prob"],
                naive_log_prob(outputs[t], out.actions, space_layout),
                atol=1e-5,
                rtol=1e-5,
            )


def naive_log_prob(
    outputs: torch.Tensor, actions: torch.Tensor, space_layout: RoleLayout
) -> torch.Tensor:
    spec = space_layout.actions
    *parts, means = outputs.split([*spec.choices, len(spec.numbers)], -1)
    found = torch.from_numpy(
        norm.logpdf(actions[:, len(parts) :].numpy(), means.numpy()).sum(-1)
    ).float()
    for i, part in enumerate(parts):
        found += part.log_softmax(-1)[torch.arange(len(actions)), actions[:, i].long()]
    return found


def test_greedy_ignores_the_uniforms() -> None:
    space_layout = layout(BOARD, spaces.Discrete(7))
    model = build_model(space_layout, ModelConfig(hidden=(16,)), 0)
    drawn = [
        model.act(
            observe(space_layout, 8),
            torch.ones(8, 7, dtype=torch.bool),
            torch.zeros(8, dtype=torch.bool),
            torch.zeros(8, 0),
            torch.full((8, 1), u, dtype=torch.float64),
            greedy=True,
        ).actions
        for u in (0.0, 0.99)
    ]
    assert torch.equal(drawn[0], drawn[1])


def test_channel_order_of_images() -> None:
    """The same picture as HWC and as CHW gives the same output."""
    last = build_model(
        layout(spaces.Box(0, 255, (12, 10, 3), np.uint8), spaces.Discrete(3)),
        ModelConfig(hidden=(8,), conv=CONV),
        0,
    )
    first_layout = layout(spaces.Box(0, 255, (3, 12, 10), np.uint8), spaces.Discrete(3))
    first = build_model(
        first_layout, ModelConfig(hidden=(8,), conv=CONV, channels_last_input=False), 0
    )
    image = torch.randint(
        0, 256, (2, 12, 10, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    one, two = (
        last.encoder({"observation": image}),
        first.encoder({"observation": image.permute(0, 3, 1, 2)}),
    )
    torch.testing.assert_close(one, two, atol=1e-6, rtol=1e-5)


def test_scales_and_one_hot() -> None:
    assert integer_scale(layout(BOARD, spaces.Discrete(2)).leaves[0]) == 1.0
    assert (
        integer_scale(layout(spaces.Box(0, 255, (4,), np.uint8), spaces.Discrete(2)).leaves[0])
        == 1 / 255
    )
    assert (
        integer_scale(layout(spaces.Box(-3, 2, (4,), np.int16), spaces.Discrete(2)).leaves[0])
        == 1 / 3
    )
    assert (
        integer_scale(layout(spaces.Box(-9.0, 9.0, (4,), np.float32), spaces.Discrete(2)).leaves[0])
        == 1.0
    )
    unbounded = spaces.Box(np.iinfo(np.int64).min, np.iinfo(np.int64).max, (2,), np.int64)
    assert integer_scale(layout(unbounded, spaces.Discrete(2)).leaves[0]) == 1.0
    model = build_model(
        layout(spaces.MultiDiscrete([3, 2]), spaces.Discrete(2)), ModelConfig(hidden=()), 0
    )
    assert model.encoder({"observation": torch.tensor([[2, 0], [0, 1]])}).tolist() == [
        [0, 0, 1, 1, 0],
        [1, 0, 0, 0, 1],
    ]


def test_a_model_that_does_not_fit_the_observation_is_refused_by_name() -> None:
    too_big = (ConvLayer(channels=4, kernel=4), ConvLayer(channels=4, kernel=5))
    with pytest.raises(
        ConfigError, match=r"model\.conv: layer 1 leaves -1 x 0 of observation leaf observation"
    ):
        build_model(layout(BOARD, spaces.Discrete(7)), ModelConfig(conv=too_big), 0)
    with pytest.raises(
        ConfigError, match='model.encoder = "conv": the observation has observation'
    ):
        build_model(
            layout(spaces.Discrete(3), spaces.Discrete(2)),
            ModelConfig(encoder="conv", conv=CONV),
            0,
        )


def test_normaliser_merges_to_the_moments_of_everything_seen() -> None:
    model: PolicyModel = build_model(
        layout(spaces.Box(-np.inf, np.inf, (3,), np.float32), spaces.Discrete(2)),
        ModelConfig(normalize_observations=True),
        0,
    )
    ((_, part, statistics),) = model.encoder.normalizers()
    seen = 5.0 + 3.0 * torch.randn(1000, 3, generator=torch.Generator().manual_seed(0))
    for chunk in seen.split([1, 399, 600]):
        statistics.merge(
            sum(statistics.sums(part.numbers(shard)) for shard in chunk.tensor_split(2))
        )  # type: ignore[arg-type]
    assert float(statistics.count) == 1000
    torch.testing.assert_close(statistics.mean, seen.double().mean(0), atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(
        statistics.variance, seen.double().var(0, correction=0), atol=1e-9, rtol=1e-9
    )
    normal = model.encoder({"observation": seen})
    assert normal.mean(0).abs().max() < 1e-4
    assert (normal.std(0) - 1).abs().max() < 1e-2
    assert {
        "encoder.parts.0.moments.mean",
        "encoder.parts.0.moments.variance",
        "encoder.parts.0.moments.count",
    } <= model.state_dict().keys()
