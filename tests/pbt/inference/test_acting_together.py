"""Networks that act for several requests at once do what each would alone, bit for bit."""

from collections.abc import Sequence

import numpy as np
import pytest

from pbt.algorithms.dqn import EpsilonGreedy
from pbt.config.learning import ModelConfig
from pbt.envs.contract import Role
from pbt.errors import EngineError
from pbt.inference.policy_server import NetworkPolicy, PolicyServer, ScriptedPolicy
from pbt.models.policy_model import PolicyModel
from pbt.transport.messages import ActionRequest, ActionsReady
from pbt.transport.slab import Slab
from tests.pbt.inference.acting import (
    ACTED,
    NUMBERS,
    ROLE,
    config,
    request_for,
    sharp_model,
    waiting_slab,
)

POLICIES = 5
# A single row, few and many, of several policies; two are greedy.
ASKED = (
    (0, [3, 1, 7], 0, False),
    (1, [2], 0, False),
    (2, [0, 4, 5, 6, 8, 9, 10, 11], 0, True),
    (3, [12, 13, 14, 15], 0, False),
    (4, [0, 2, 15], 1, False),
    (1, [5, 6], 1, True),
)


def requests() -> list[ActionRequest]:
    return [
        request_for(slots, row, greedy)._replace(policy=policy)
        for policy, slots, row, greedy in ASKED
    ]


def server_of(model_config: ModelConfig, role: Role) -> tuple[PolicyServer, Slab]:
    """A server of four networks and a scripted player over a slab whose rows all wait."""
    slab = waiting_slab(16 if model_config.core == "lstm" else model_config.memory_size, role)
    server = PolicyServer([slab], POLICIES)
    for policy in range(POLICIES - 1):
        hosted = NetworkPolicy(sharp_model(slab.layout, model_config, seed=policy), f"m{policy}")
        server.attach(policy, hosted)
        hosted.version, hosted.weights = 10 + policy, 20 + policy
    server.attach(POLICIES - 1, ScriptedPolicy(slab.layout.actions.random_act, weights=7))
    return server, slab


def told(answers: Sequence[ActionsReady]) -> list[tuple[object, ...]]:
    return [(one.policy, one.slots.tolist(), one.version, one.weights) for one in answers]


@pytest.mark.parametrize(
    ("core", "images", "role", "together"),
    [
        ("none", False, ROLE, True),
        ("none", True, ROLE, True),
        ("gru", False, ROLE, False),
        ("none", False, NUMBERS, False),
    ],
)
def test_what_acts_together_writes_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, core: str, images: bool, role: Role, together: bool
) -> None:
    model_config = config(core, images=images)
    alone, of_alone = server_of(model_config, role)
    one_by_one = [alone.serve(request) for request in requests()]
    server, slab = server_of(model_config, role)
    calls: list[object] = []
    act = PolicyModel.act
    monkeypatch.setattr(PolicyModel, "act", lambda *a, **k: calls.append(1) or act(*a, **k))
    asked = requests()
    answers = server.serve_all(asked)
    assert told(answers) == told(one_by_one)
    assert all(one.slots is of.slots for one, of in zip(answers, asked, strict=True))
    for name in ACTED:
        np.testing.assert_array_equal(slab.column[name], of_alone.column[name], err_msg=name)
    assert (server.rows_served, server.forwards) == (alone.rows_served, alone.forwards) == (21, 5)
    assert len(calls) == (0 if together else 5)


def test_rules_of_another_kind_act_alone() -> None:
    slab = waiting_slab(0)
    model = PolicyModel(slab.layout, config("none"), rule=EpsilonGreedy(0.0, explores=True))
    assert not model.acts_with_others


def test_the_network_that_computes_no_numbers_is_named_among_others() -> None:
    server, slab = server_of(config("none"), ROLE)
    model = sharp_model(slab.layout, config("none"), seed=9)
    model.heads.weight.data.fill_(3e38)
    server.attach(3, NetworkPolicy(model, "m3"))
    with pytest.raises(EngineError, match="network of m3 computed numbers .* for 4 of 4 obs"):
        server.serve_all(requests())
