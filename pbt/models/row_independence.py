"""Whether a network answers a row alike, whatever other rows come with it in one call.

How many rows do depends on which process acts for them, so where they are not answered alike equal
seeds give other games in other placements. Kernels of matrix products choose their order of
summing by the number of rows; `PolicyModel.act` therefore computes at least so many that no CPU
known to us chooses another. This is the test of that, on the machine at hand.
"""

import numpy as np
import torch
from torch import Tensor

from pbt.envs.spaces import ObservationCodec
from pbt.models.policy_model import PolicyModel
from pbt.transport.slab import RoleLayout

# Calls of so many rows are compared with one of all.
COUNTS = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63)
ROWS = 64


def odd_count(model: PolicyModel, layout: RoleLayout) -> int | None:
    """How many rows, of which one is answered otherwise than among ROWS; None where none is.

    model: ready to act. Its observations are drawn at random.
    """
    inputs = _inputs(model, layout, np.random.default_rng(0))
    with torch.inference_mode():
        whole = _answers(model, inputs, ROWS)
        for count in COUNTS:
            parts = zip(_answers(model, inputs, count), whole, strict=True)
            if not all(torch.equal(part, all_rows[:count]) for part, all_rows in parts):
                return count
    return None


def _inputs(
    model: PolicyModel, layout: RoleLayout, rng: np.random.Generator
) -> dict[str, dict[str, Tensor] | Tensor]:
    """What ROWS agents see, remember and draw."""
    device, space = model.heads.weight.device, layout.role.observation_space
    space.seed(0)
    codec = ObservationCodec(space)
    rows = [list(codec.split(space.sample())) for _ in range(ROWS)]
    seen = {
        leaf.name: torch.from_numpy(np.array(own, leaf.dtype).reshape(ROWS, *leaf.shape)).to(device)
        for leaf, own in zip(layout.leaves, zip(*rows, strict=True), strict=True)
    }
    width = layout.actions.width + model.rule.noise
    return {
        "observations": seen,
        "mask": torch.ones(ROWS, layout.actions.mask_size, dtype=torch.bool, device=device),
        "episode_start": torch.zeros(ROWS, dtype=torch.bool, device=device),
        "state": torch.from_numpy(rng.normal(size=(ROWS, model.state_size))).float().to(device),
        "uniforms": torch.from_numpy(rng.random((ROWS, width))).to(device),
    }


def _answers(
    model: PolicyModel, inputs: dict[str, dict[str, Tensor] | Tensor], count: int
) -> list[Tensor]:
    """What the model says of the first rows."""
    first = {
        name: {leaf: own[:count] for leaf, own in value.items()}
        if isinstance(value, dict)
        else value[:count]
        for name, value in inputs.items()
    }
    out = model.act(**first)  # type: ignore[arg-type]
    return [out.actions, out.state, *out.columns.values()]
