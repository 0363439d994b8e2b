"""Digests tell any two different weights apart, and call equal ones equal wherever they act."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pbt.config.learning import ModelConfig
from pbt.envs.contract import Role
from pbt.inference.policy_server import NetworkPolicy
from pbt.models.digests import (
    ActingForms,
    acting_digest,
    acting_dtypes,
    digest,
    scripted_digest,
)
from pbt.models.policy_model import PolicyModel, build_model
from pbt.models.weights import MODEL_PREFIX
from pbt.transport.slab import role_layout
from pbt.transport.staging import CPU
from pbt.transport.weights import PublishedWeights
from tests.pbt.models.memories import MEMORIES, memory

WEIGHTS = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor([True, False])}
LAYOUT = role_layout(
    Role("player", spaces.Box(-1, 1, (4,), np.float32), spaces.Discrete(3)), ("reward",), 4, 0
)
CONFIGS = {core: ModelConfig(hidden=(16,), **memory(core, 8)) for core in MEMORIES}


def test_equal_tensors_have_equal_digests_however_they_lie_in_memory() -> None:
    turned = torch.arange(6.0).view(2, 3).t().contiguous().t()
    assert not turned.is_contiguous()
    assert digest({"b": WEIGHTS["b"], "a": turned}) == digest(WEIGHTS)
    assert 0 < digest(WEIGHTS) < 2**63 and digest({}) > 0


def test_any_difference_shows() -> None:
    a, b = WEIGHTS["a"], WEIGHTS["b"]
    nudged = a.clone()
    nudged[1, 2] = torch.nextafter(nudged[1, 2], torch.tensor(99.0))
    others = [
        {"a": a},
        {"a": b, "b": a},
        {"a": nudged, "b": b},
        {"a": a.view(3, 2), "b": b},
        {"a": a.double(), "b": b},
        {"a": a, "b": b.to(torch.uint8)},
        {"a": -a, "b": b},
    ]
    assert len({digest(tensors) for tensors in (WEIGHTS, *others)}) == len(others) + 1
    assert len({scripted_digest(name) for name in ("random", "oneply", "Random")}) == 3


@pytest.mark.parametrize("core", MEMORIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_learner_readers_and_snapshots_agree_in_both_precisions(
    dtype: torch.dtype, core: str
) -> None:
    config = CONFIGS[core]
    learned = build_model(LAYOUT, config, 1, dtype)
    dtypes = acting_dtypes(learned)
    expected = acting_digest(learned.state_dict(), dtypes)
    assert (torch.bfloat16 in dtypes.values()) == (dtype == torch.bfloat16)
    state = {MODEL_PREFIX + name: tensor for name, tensor in learned.state_dict().items()}
    published = PublishedWeights(state)
    live = NetworkPolicy(_acting(config, dtype), "m0", published)
    live.settle(CPU)
    live.refresh()
    assert live.weights == 0, "no digest is taken where none was asked for"
    published.publish(state, 3, attested=True)
    live.refresh()
    assert (live.weights, live.version) == (expected, 3)
    published.publish(state, 4)
    live.refresh()
    assert (live.weights, live.version) == (0, 4)
    frozen = build_model(LAYOUT, config, 1, dtype)
    frozen.fix_dtype()
    policy = NetworkPolicy(frozen, "frozen")
    policy.settle(CPU)
    assert policy.weights == expected
    snapshot = {**state, "adam.exp_avg": torch.ones(3)}
    assert ActingForms(("player",), {"player": dtypes}).digest(snapshot, "player") == expected
    assert acting_digest(build_model(LAYOUT, config, 2, dtype).state_dict(), dtypes) != expected


def _acting(config: ModelConfig, dtype: torch.dtype) -> PolicyModel:
    model = PolicyModel(LAYOUT, config, dtype)
    model.fix_dtype()
    return model
