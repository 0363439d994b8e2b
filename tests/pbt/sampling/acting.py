"""A slab full of rows that wait, and what a server makes of them."""

from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray

from pbt.config.schema import ModelConfig
from pbt.envs.contract import Role
from pbt.models.policy_model import PolicyModel, build_model
from pbt.sampling.policy_server import NetworkPolicy, PolicyServer
from pbt.transport.messages import ActionRequest
from pbt.transport.slab import RoleLayout, Slab, role_layout

T, SLOTS = 3, 16
ROLE = Role(
    "player",
    gymnasium.spaces.Dict({"image": gymnasium.spaces.Box(0, 255, (12, 12, 3), np.uint8), "numbers": gymnasium.spaces.Box(-9, 9, (5,), np.float32)}),
    gymnasium.spaces.MultiDiscrete((3, 2)),
)
ACTED = ("actions", "log_prob", "value", "version", "policy", "live_state")


def config(gru_size: int) -> ModelConfig:
    memory: dict[str, Any] = {"core": "gru", "gru_size": gru_size} if gru_size else {}
    return ModelConfig.model_validate(
        {"hidden": [16], "normalize_observations": True, "conv": [{"channels": 4, "kernel": 4, "stride": 2}], "channels_last_input": True, **memory}
    )


def sharp_model(layout: RoleLayout, gru_size: int, seed: int) -> PolicyModel:
    """Far from uniform, so that differences show."""
    model = build_model(layout, config(gru_size), seed)
    with torch.no_grad():
        model.heads.weight.mul_(30.0)
    return model


def serve(gru_size: int, greedy: bool, device: torch.device) -> tuple[dict[str, NDArray[Any]], PolicyServer]:
    """Three requests of different sizes over one slab; the columns a server writes, afterwards."""
    slab = Slab(role_layout(ROLE, ("reward",), T, gru_size), SLOTS)
    rng = np.random.default_rng(0)
    for name, column in slab.column.items():
        if name not in ACTED:
            column[...] = rng.integers(0, 2, column.shape) if column.dtype == np.bool_ else rng.integers(0, 9, column.shape)
    server = PolicyServer([slab], 2, device)
    server.attach(1, NetworkPolicy(sharp_model(slab.layout, gru_size, seed=3)))
    for slots, row in (([3, 1, 7], 0), ([1, 3], 1), ([0, 2, 4, 5, 7, 9, 11, 15], 2)):
        count = len(slots)
        keys, steps = rng.integers(0, 2**63, count, dtype=np.uint64), np.arange(count, dtype=np.uint64)
        request = ActionRequest(1, 0, np.array(slots), np.full(count, row), keys, steps, greedy)
        ready = server.serve(request)
        assert ready.version == 0 and ready.slots is request.slots
    return {name: slab.column[name] for name in ACTED}, server
