"""A slab full of rows that wait, and what a server makes of them."""

import copy
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray

from pbt.algorithms.appo import Appo
from pbt.config.learning import LearningConfig, ModelConfig
from pbt.envs.contract import Role
from pbt.inference.policy_server import NetworkPolicy, PolicyServer
from pbt.learning.background_gathering import BatchGatherer
from pbt.learning.learner import Learner
from pbt.learning.statistics import UpdateStats
from pbt.models.policy_model import PolicyModel, build_model
from pbt.transport.messages import ActionRequest
from pbt.transport.slab import RoleLayout, Slab, role_layout
from tests.pbt.learning.one_pass import hyperparams_of
from tests.pbt.models.memories import memory

T, SLOTS = 3, 16
ROLE = Role(
    "player",
    gymnasium.spaces.Dict(
        {
            "image": gymnasium.spaces.Box(0, 255, (12, 12, 3), np.uint8),
            "numbers": gymnasium.spaces.Box(-9, 9, (5,), np.float32),
        }
    ),
    gymnasium.spaces.MultiDiscrete((3, 2)),
)
PUSH = gymnasium.spaces.Box(-1.0, 1.0, (2,))
NUMBERS = Role("player", ROLE.observation_space, PUSH)
MIXED = Role(
    "player", ROLE.observation_space, gymnasium.spaces.Tuple((PUSH, gymnasium.spaces.Discrete(3)))
)
ACTED = ("actions", "log_prob", "value", "version", "policy", "live_state")


def config(core: str, *, images: bool = True) -> ModelConfig:
    """images: through convolutions, which a device may compute in a lower precision; else flat."""
    conv = [{"channels": 4, "kernel": 4, "stride": 2}] if images else []
    return ModelConfig.model_validate(
        {
            "hidden": [16],
            "normalize_observations": True,
            "conv": conv,
            "channels_last_input": True,
            **memory(core, 8),
        }
    )


def sharp_model(layout: RoleLayout, config: ModelConfig, seed: int) -> PolicyModel:
    """Far from uniform, so that differences show."""
    model = build_model(layout, config, seed)
    with torch.no_grad():
        model.heads.weight.mul_(30.0)
    return model


def waiting_slab(state_size: int, role: Role = ROLE) -> Slab:
    """A slab whose rows all wait for an action: random observations, some begin an episode."""
    slab, rng = (
        Slab(role_layout(role, ("reward",), T, state_size, Appo.columns), SLOTS),
        np.random.default_rng(0),
    )
    for name, column in slab.column.items():
        if name not in ACTED:
            column[...] = (
                rng.integers(0, 2, column.shape)
                if column.dtype == np.bool_
                else rng.integers(0, 9, column.shape)
            )
    slab.column["valid"][...] = True
    slab.column["terminated"][...] = slab.column["truncated"][...] = False
    slab.column["live_state"][...] = slab.column["initial_state"]
    return slab


def request_for(slots: list[int], row: int, greedy: bool) -> ActionRequest:
    rng, count = np.random.default_rng(row), len(slots)
    keys, steps = rng.integers(0, 2**63, count, dtype=np.uint64), np.arange(count, dtype=np.uint64)
    return ActionRequest(1, 0, np.array(slots), np.full(count, row), keys, steps, greedy)


def serve(
    core: str, greedy: bool, device: torch.device, *, images: bool = True, role: Role = ROLE
) -> tuple[dict[str, NDArray[Any]], PolicyServer]:
    """Three requests of different sizes over one slab; the columns a server writes, afterwards."""
    model_config = config(core, images=images)
    slab = waiting_slab(model_config.state_size, role)
    server = PolicyServer([slab], 2, device)
    server.attach(1, NetworkPolicy(sharp_model(slab.layout, model_config, seed=3), "m0"))
    for slots, row in (([3, 1, 7], 0), ([1, 3], 1), ([0, 2, 4, 5, 7, 9, 11, 15], 2)):
        request = request_for(slots, row, greedy)
        ready = server.serve(request)
        assert ready.version == 0 and ready.slots is request.slots
    return {name: slab.column[name] for name in ACTED}, server


def lag_of_trained_rows(core: str, device: torch.device, role: Role = ROLE) -> UpdateStats:
    """Statistics of an update on slots that were acted by the same weights on the device."""
    model_config = config(core, images=False)
    slab = waiting_slab(model_config.state_size, role)
    model = sharp_model(slab.layout, model_config, seed=3)
    server = PolicyServer([slab], 2, device)
    server.attach(1, NetworkPolicy(copy.deepcopy(model), "m0"))
    for row in range(T):
        server.serve(request_for(list(range(SLOTS)), row, False))
    learner = Learner(
        model.to(device),
        LearningConfig(learning_rate=0.0),
        hyperparams_of({"reward": 1.0}, 0.0, 0.01),
        ("reward",),
        key=(1, "m0"),
    )
    gatherer = BatchGatherer([slab], device)
    gatherer.gather("m0", 0, range(SLOTS))
    stats = learner.update(gatherer.take("m0"))
    gatherer.close()
    return stats
