"""With a learning rate of zero, training computes the log-probabilities that acting computed.

The test runs an assembled engine of worker, server, slab, batcher and learner, with memory, parked
slots, openings, truncation, past opponents and copies.
"""

from typing import Any

import numpy as np
import pytest
import torch

from pbt.algorithms.batch import Batch, zeroed_observations
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.runtime.local_learner import LocalLearner
from pbt.transport.messages import SlotFull
from tests.pbt.models.memories import memory
from tests.pbt.runtime.checking import CheckedEngine

CONFIG: dict[str, Any] = {
    "seed": 5,
    "stop_at_frames": 500,
    "population": {"members": 3},
    "sampling": {"environments": 8, "rollout_steps": 5, "opening_plies": 2},
    "model": {**memory("gru", 8), "hidden": [16]},
    # A scale of returns would change the value head.
    "learning": {
        "batch_steps": 40,
        "epochs": 2,
        "minibatches": 2,
        "learning_rate": 0.0,
        "normalize_returns": False,
    },
    # Mutation would make the learning rate more than zero; a copy only moves weights.
    "pbt": {
        "period_frames": 100,
        "warmup_frames": 100,
        "min_games": 3,
        "score_games": 50,
        "copy_gap": 0.0,
        "mutation_probability": 0.0,
    },
    "matchmaking": {"past_share": 0.2, "past_window": 3},
    "evaluation": {"share": 0.1, "final_games": 0},
}


class ZeroLag(CheckedEngine):
    """Compares, row by row, what the server wrote with what the learner computes.

    seen  number of rows of each special kind that were compared
    """

    def __init__(self, config: RunConfig) -> None:
        self.seen = dict.fromkeys(("truncated", "begins behind row 0", "goes on in a new slot"), 0)
        super().__init__(config, registry.spec(config.env.name, allow_files=True))
        for local in self.population.learners:
            self._sharpen(local)

    def _sharpen(self, local: LocalLearner) -> None:
        """A fresh policy is close to uniform whatever it sees; this one is not."""
        with torch.no_grad():
            local.learner.model.heads.weight.mul_(30.0)
        local.publish()

    def check_batch(self, local: LocalLearner, batch: Batch, taken: list[SlotFull]) -> None:
        super().check_batch(local, batch, taken)
        model, valid = local.learner.model, batch.valid
        with torch.no_grad():
            outputs, values = model.unroll(
                zeroed_observations(batch), batch.mask, batch.episode_start, batch.initial_state
            )
            log_prob = model.distribution(outputs[:-1]).log_prob(batch.actions)
        np.testing.assert_allclose(
            log_prob[valid].numpy(), batch.acted["log_prob"][valid].numpy(), rtol=0, atol=2e-5
        )
        np.testing.assert_allclose(
            values[:-1][valid].numpy(), batch.acted["value"][valid].numpy(), rtol=1e-4, atol=1e-4
        )
        self.seen["truncated"] += int(batch.truncated.sum())
        self.seen["begins behind row 0"] += int(batch.episode_start[1:-1][valid[1:]].sum())
        self.seen["goes on in a new slot"] += int((~batch.episode_start[0] & valid[0]).sum())


@pytest.mark.parametrize(
    ("game", "met", "changes"),
    [
        ("tictactoe", ["begins behind row 0", "goes on in a new slot"], {}),
        (
            "cartpole",
            ["truncated", "begins behind row 0", "goes on in a new slot"],
            {
                "env": {"name": "cartpole", "options": {"max_episode_steps": 12}},
                "pbt": {**CONFIG["pbt"], "copy_significance": 1.0},
            },
        ),
        ("hide_and_seek", ["begins behind row 0"], {"stop_at_frames": 250}),
        (
            "pendulum",
            ["truncated", "begins behind row 0", "goes on in a new slot"],
            {
                "env": {"name": "gymnasium:Pendulum-v1", "options": {"max_episode_steps": 12}},
                "pbt": {**CONFIG["pbt"], "copy_significance": 1.0},
            },
        ),
        (
            "tictactoe",
            ["begins behind row 0", "goes on in a new slot"],
            {"model": {**memory("lstm", 8), "hidden": [16]}},
        ),
    ],
)
def test_behaviour_and_training_log_probabilities_are_equal_at_learning_rate_zero(
    game: str, met: list[str], changes: dict[str, Any]
) -> None:
    checked = ZeroLag(RunConfig.model_validate(CONFIG | {"env": {"name": game}} | changes))
    checked.finish()
    assert all(abs(values["kl"]) <= 1e-6 for _, _, values in checked.sink.points)
    assert len(checked.sink.points) >= 20 and min(checked.batches.values()) > 0
    assert all(checked.seen[kind] > 0 for kind in met)
    assert any(member.copies for member in checked.population.controller.members.values())
