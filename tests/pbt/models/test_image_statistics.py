"""Images normalised pixel by pixel."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor

from pbt.algorithms.batch import observed_places
from pbt.config.learning import ConvLayer, ModelConfig
from pbt.envs.contract import Role
from pbt.models.encoders import ConvEncoder
from pbt.models.policy_model import PolicyModel, build_model
from pbt.transport.slab import role_layout
from tests.pbt.learning.conftest import Bench
from tests.pbt.learning.one_pass import one_pass

CONV = (ConvLayer(channels=4, kernel=3, stride=2),)
CONFIG = ModelConfig(conv=CONV, hidden=(16,), normalize_observations=True)
HEIGHT, WIDTH, CHANNELS = 6, 8, 3
F32, BF16 = torch.float32, torch.bfloat16


def images(count: int, channels_last: bool = True, seed: int = 0) -> Tensor:
    """Every pixel with a brightness of its own; the pixel at (0, 0) never changes."""
    generator = torch.Generator().manual_seed(seed)
    base = torch.randint(
        40, 200, (1, HEIGHT, WIDTH, CHANNELS), generator=torch.Generator().manual_seed(9)
    )
    found = (
        (base + 12.0 * torch.randn(count, HEIGHT, WIDTH, CHANNELS, generator=generator))
        .clamp(0, 255)
        .to(torch.uint8)
    )
    found[:, 0, 0] = base[:, 0, 0].to(torch.uint8)
    return found if channels_last else found.permute(0, 3, 1, 2).contiguous()


def built(dtype: torch.dtype, channels_last: bool = True) -> tuple[PolicyModel, ConvEncoder]:
    shape = (HEIGHT, WIDTH, CHANNELS) if channels_last else (CHANNELS, HEIGHT, WIDTH)
    layout = role_layout(
        Role("player", spaces.Box(0, 255, shape, np.uint8), spaces.Discrete(3)), ("reward",), 4, 0
    )
    model = build_model(
        layout, CONFIG.model_copy(update={"channels_last_input": channels_last}), 1, dtype
    )
    (part,) = model.encoder.parts
    assert isinstance(part, ConvEncoder)
    return model, part


def observe(part: ConvEncoder, seen: Tensor) -> None:
    assert part.moments is not None
    part.moments.merge(part.moments.sums(part.numbers(seen)))


@torch.no_grad()
def by_hand(part: ConvEncoder, seen: Tensor, history: Tensor) -> Tensor:
    """The same in float64, pixel by pixel."""
    past, now = (values.double() / 255.0 for values in (history, seen))
    normal = (now - past.mean(0)) / (past.var(0, correction=0) + 1e-4).sqrt()
    layer = part.layers[0]
    assert isinstance(layer, torch.nn.Conv2d) and layer.bias is not None
    weight, bias = layer.weight.double(), layer.bias.double()
    return torch.relu(
        torch.conv2d(normal.clamp(-5.0, 5.0).permute(0, 3, 1, 2), weight, bias, stride=2)
    ).flatten(1)


@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(F32, 1e-4), (BF16, 0.15)])
def test_every_pixel_has_its_own_statistics(
    channels_last: bool, dtype: torch.dtype, tolerance: float
) -> None:
    _, part = built(dtype, channels_last)
    for chunk in images(200, channels_last).split([3, 197]):
        observe(part, chunk)
    seen = images(20, channels_last, seed=5)
    found = part(seen).detach().double()
    expected = by_hand(part, images(20, seed=5), images(200))
    assert expected.std() > 0.5, "something to see"
    assert (found - expected).abs().max() < tolerance


def test_what_acts_is_what_is_trained_after_pack_and_not_before() -> None:
    model, part = built(F32)
    seen = images(20, seed=5)
    model.pack()
    blind = part(seen)
    observe(part, images(200))
    assert torch.equal(part(seen), blind), "the statistics of the last pack()"
    model.pack()
    packed = part(seen)
    fresh, other = built(F32)
    observe(other, images(200))
    assert torch.equal(packed, other(seen)) and not torch.equal(packed, blind)
    fresh.load_state_dict(model.state_dict())
    fresh.pack()
    assert torch.equal(other(seen), packed)


def test_models_that_only_act_see_alike_to_the_bit() -> None:
    acting, part = built(BF16)
    observe(part, images(200))
    plain = part(images(20, seed=5)).detach()
    acting.fix_dtype()
    acting.pack()
    assert torch.equal(part(images(20, seed=5)), plain)


def test_a_learner_observes_a_few_rows_of_every_batch() -> None:
    bench = Bench(
        config=one_pass(),
        model_config=CONFIG,
        observation=spaces.Box(0, 255, (HEIGHT, WIDTH, CHANNELS), np.uint8),
        steps=20,
    )
    learner = bench.learner()
    ((_, part, statistics),) = learner.model.encoder.normalizers()
    assert part.observed_rows == 32
    counts = []
    for seed in range(3):
        batch = bench.batch(bench.model(5), seed=seed)
        learner.update(batch)
        counts.append(float(statistics.count))
        assert int(batch.valid.sum()) > 64
    assert all(
        32 <= later - earlier < 64 for earlier, later in zip([0.0, *counts], counts, strict=False)
    )
    assert statistics.mean.shape == (HEIGHT * WIDTH * CHANNELS,) and bool(
        (statistics.variance > 0).any()
    )


@pytest.mark.parametrize(("steps", "slots"), [(32, 64), (32, 32), (32, 16), (20, 50), (8, 128)])
@pytest.mark.parametrize("absent", [0, 1, 40])
def test_the_few_rows_come_from_many_slots_and_from_every_step_in_turn(
    steps: int, slots: int, absent: int
) -> None:
    """Successive frames are alike: 32 of one environment would say little."""
    valid = torch.ones(steps, slots, dtype=torch.bool)
    valid.view(-1)[
        torch.randperm(steps * slots, generator=torch.Generator().manual_seed(1))[:absent]
    ] = False
    met = set[int]()
    for turn in range(steps * slots // 32):
        where, whose = observed_places(valid, 32, turn)
        assert (
            32 <= len(where) < 64
            and bool(valid[where, whose].all())
            and len(set(zip(where.tolist(), whose.tolist(), strict=True))) == len(where)
        )
        assert len(set(whose.tolist())) >= min(slots, 32) // 2
        met |= set(where.tolist())
    assert met == set(range(steps))


def test_all_rows_are_those_that_are_valid() -> None:
    valid = torch.rand(7, 5, generator=torch.Generator().manual_seed(2)) < 0.6
    where, whose = observed_places(valid, None, 3)
    assert set(zip(where.tolist(), whose.tolist(), strict=True)) == {
        (step, slot) for step, slot in valid.nonzero().tolist()
    }
