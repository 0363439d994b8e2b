"""A server with its network on a device chooses the same actions, by one copy there and one back.

The "device" of these tests is the CPU.
"""

import numpy as np
import pytest
import torch

from pbt.algorithms.appo import Appo
from pbt.envs.contract import Role
from pbt.errors import EngineError
from pbt.inference import policy_server
from pbt.inference.policy_server import NetworkPolicy, PolicyServer
from pbt.learning import background_gathering as gathering
from pbt.models.policy_model import build_model
from pbt.transport.slab import role_layout
from pbt.transport.staging import CPU, Staging
from pbt.transport.weights import PublishedWeights
from tests.pbt.inference.acting import (
    MIXED,
    NUMBERS,
    ROLE,
    SLOTS,
    T,
    config,
    lag_of_trained_rows,
    request_for,
    serve,
    sharp_model,
    waiting_slab,
)
from tests.pbt.models.memories import MEMORIES

# Masks of roles without a choice have no entries.
NUMBERED = [("none", NUMBERS), ("none", MIXED)]


@pytest.mark.parametrize(
    ("core", "role"), [*((core, ROLE) for core in ("none", *MEMORIES)), *NUMBERED]
)
@pytest.mark.parametrize("greedy", [False, True])
def test_a_staged_server_writes_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, core: str, role: Role, greedy: bool
) -> None:
    plain, server = serve(core, greedy, CPU, role=role)
    monkeypatch.setattr(policy_server, "staging_for", Staging)
    staged, staged_server = serve(core, greedy, CPU, role=role)
    for name, column in plain.items():
        np.testing.assert_array_equal(staged[name], column, err_msg=name)
    assert (plain["policy"] == 1).sum() == 13, "rows that did not wait are not written to"
    assert (
        (server.rows_served, server.forwards)
        == (staged_server.rows_served, staged_server.forwards)
        == (13, 3)
    )


@pytest.mark.parametrize(("core", "role"), [*((core, ROLE) for core in MEMORIES), *NUMBERED])
@pytest.mark.parametrize("staged", [False, True])
def test_what_acted_is_what_is_trained(
    monkeypatch: pytest.MonkeyPatch, staged: bool, core: str, role: Role
) -> None:
    if staged:
        monkeypatch.setattr(policy_server, "staging_for", Staging)
        monkeypatch.setattr(gathering, "staging_for", Staging)
    stats = lag_of_trained_rows(core, CPU, role)
    assert stats.rows == SLOTS * T and abs(stats.means["kl"]) < 1e-6
    assert stats.means["clip_fraction"] == 0.0


def test_a_network_that_computes_no_numbers_is_named() -> None:
    slab = waiting_slab(0)
    model = sharp_model(slab.layout, config("none"), seed=3)
    with torch.no_grad():
        model.heads.weight.fill_(3e38)
    server = PolicyServer([slab], 2)
    server.attach(1, NetworkPolicy(model, "m0"))
    with pytest.raises(EngineError, match="network of m0 computed numbers that are not finite"):
        server.serve(request_for([3, 1, 7], 0, greedy=False))


def test_a_live_policy_takes_its_part_of_what_the_learner_published() -> None:
    layout = role_layout(ROLE, ("reward",), 3, 0, Appo.columns)
    trained, model = (build_model(layout, config("none"), seed) for seed in (1, 2))
    state = {"model." + name: tensor for name, tensor in trained.state_dict().items()}
    published = PublishedWeights(
        {**state, "adam.exp_avg": torch.zeros(7), "clocks": torch.zeros(4, dtype=torch.int64)}
    )
    policy = NetworkPolicy(model, "m0", published)
    policy.refresh()
    assert all(
        torch.equal(tensor, trained.state_dict()[name])
        for name, tensor in model.state_dict().items()
    )
    with torch.no_grad():
        trained.heads.bias.fill_(5.0)
    policy.refresh()
    assert not (model.heads.bias == 5.0).any()
    published.publish(
        {**state, "adam.exp_avg": torch.ones(7), "clocks": torch.zeros(4, dtype=torch.int64)}, 42
    )
    policy.refresh()
    assert (model.heads.bias == 5.0).all() and policy.version == 42
