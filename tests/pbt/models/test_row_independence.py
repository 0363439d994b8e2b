"""What a network says of a row does not depend on the other rows of the call.

So a seat acts alike whichever tables and members ask together with it.
"""

import pytest
import torch
from gymnasium import spaces

from pbt.config.learning import ConvLayer, ModelConfig
from pbt.models.policy_model import ActOutput, PolicyModel, build_model
from tests.pbt.models.memories import memory
from tests.pbt.models.test_policy_model import BOARD, MIXED, layout, observe

MOST_ROWS = 300
NETWORKS = {
    "dense": (BOARD, ModelConfig(hidden=(64, 64))),
    "convolutions": (
        BOARD,
        ModelConfig(hidden=(), conv=(ConvLayer(channels=8, kernel=3, padding=1),)),
    ),
    "products": (
        BOARD,
        ModelConfig(
            hidden=(), conv=(ConvLayer(channels=8, kernel=3), ConvLayer(channels=64, kernel=1))
        ),
    ),
    "gru": (BOARD, ModelConfig(hidden=(32,), **memory("gru", 16))),
    "images and measurements": (MIXED, ModelConfig(hidden=(32,), measurement_hidden=(16,))),
}


@pytest.mark.parametrize("case", NETWORKS)
def test_a_row_is_answered_alike_whatever_else_is_in_the_call(case: str) -> None:
    space, config = NETWORKS[case]
    of = layout(space, spaces.Discrete(7))
    model, draw = build_model(of, config, seed=3), torch.Generator().manual_seed(5)
    seen = observe(of, MOST_ROWS)
    mask = torch.rand(MOST_ROWS, 7, generator=draw) < 0.7
    starts = torch.rand(MOST_ROWS, generator=draw) < 0.2
    state = torch.randn(MOST_ROWS, model.state_size, generator=draw)
    uniforms = torch.rand(MOST_ROWS, 1, dtype=torch.float64, generator=draw)

    def acted(model: PolicyModel, rows: torch.Tensor) -> ActOutput:
        own = {name: leaf[rows] for name, leaf in seen.items()}
        with torch.inference_mode():
            return model.act(own, mask[rows], starts[rows], state[rows], uniforms[rows])

    together = acted(model, torch.arange(MOST_ROWS)).named()
    for count in (*range(1, 80), 96, 127, 128, 129, 255, 256, 257, MOST_ROWS - 1):
        rows = torch.randperm(MOST_ROWS, generator=draw)[:count]
        for name, alone in acted(model, rows).named().items():
            assert torch.equal(alone, together[name][rows]), f"{name} of {count} rows"
