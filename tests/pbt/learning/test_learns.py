"""It learns: a bandit, and a cue that must be remembered, with a recurrent core and not without."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor

from pbt.algorithms.batch import Batch
from pbt.config.learning import LearningConfig, ModelConfig
from pbt.envs.contract import Role
from pbt.learning.learner import Learner
from pbt.models.policy_model import build_model
from pbt.transport.slab import role_layout
from tests.pbt.learning.one_pass import hyperparams_of, one_pass
from tests.pbt.models.memories import memory

SLOTS, STEPS, DELAY = 64, 8, 3


class Recall:
    """A cue of 0 or 1 is shown once; the same number is the right answer DELAY blank steps later.

    The right answer brings a reward of 1, and the next cue follows.
    """

    heads: tuple[int, ...] = (2,)

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._cue = rng.integers(0, 2, SLOTS)
        self._clock = 0

    def observe(self) -> Tensor:
        shown = np.zeros((SLOTS, 3), np.float32)
        if self._clock == 0:
            shown[np.arange(SLOTS), self._cue] = 1.0
        shown[:, 2] = self._clock == DELAY
        return torch.from_numpy(shown)

    def start(self) -> bool:
        return self._clock == 0

    def step(self, actions: Tensor) -> tuple[Tensor, bool]:
        """(rewards [SLOTS], episode over)."""
        over = self._clock == DELAY
        rewards = torch.from_numpy((actions[:, 0].numpy() == self._cue) * np.float32(over))
        self._clock = 0 if over else self._clock + 1
        if over:
            self._cue = self._rng.integers(0, 2, SLOTS)
        return rewards, over


class Bandit(Recall):
    """One step; each of three heads has one paying arm, two of four arms are masked."""

    heads = (4, 4, 4)

    def start(self) -> bool:
        return True

    def observe(self) -> Tensor:
        return torch.ones(SLOTS, 3)

    def step(self, actions: Tensor) -> tuple[Tensor, bool]:
        return (actions == torch.tensor([1, 2, 1])).float().mean(-1), True


def train(
    game_type: type[Recall], model_config: ModelConfig, learning: LearningConfig, updates: int
) -> float:
    """Mean reward per episode end over the last ten updates."""
    rng = np.random.default_rng(0)
    game, heads = game_type(rng), game_type.heads
    action: Any = spaces.MultiDiscrete(heads) if len(heads) > 1 else spaces.Discrete(heads[0])
    layout = role_layout(
        Role("player", spaces.Box(0.0, 1.0, (3,), np.float32), action), ("r",), STEPS, 0
    )
    model = build_model(layout, model_config, seed=1)
    learner = Learner(
        model,
        learning,
        hyperparams_of({"r": 1.0}, learning.learning_rate, learning.entropy_coef),
        ("r",),
        key=(1, "m0"),
    )
    mask = torch.ones(SLOTS, sum(heads), dtype=torch.bool)
    if game_type is Bandit:
        mask[:, [0, 3, 4, 7, 8, 11]] = False
    state, scores = torch.zeros(SLOTS, model.state_size), []
    for _ in range(updates):
        initial, rows = state.clone(), []
        for _ in range(STEPS):
            seen, start = game.observe(), torch.full((SLOTS,), game.start())
            with torch.inference_mode():
                out = model.act(
                    {"observation": seen},
                    mask,
                    start,
                    state,
                    torch.from_numpy(rng.random((SLOTS, len(heads)))),
                )
            rewards, over = game.step(out.actions)
            rows.append(
                (
                    seen,
                    start,
                    out.actions,
                    out.columns["log_prob"],
                    out.columns["value"],
                    rewards.unsqueeze(-1),
                    torch.full((SLOTS,), over),
                )
            )
            state = out.state
            if over:
                scores.append(float(rewards.mean()))
        seen, start, actions, log_prob, value, rewards, over = (
            torch.stack(column) for column in zip(*rows, strict=True)
        )
        last = torch.full((1, SLOTS), game.start())
        yes, no = (
            torch.ones(STEPS, SLOTS, dtype=torch.bool),
            torch.zeros(STEPS, SLOTS, dtype=torch.bool),
        )
        observations = {"observation": torch.cat([seen, game.observe().unsqueeze(0)])}
        learner.update(
            Batch(
                observations,
                mask.expand(STEPS + 1, -1, -1),
                torch.cat([start, last]),
                yes,
                rewards,
                over,
                no,
                yes.int(),
                actions.clone(),
                torch.full((STEPS, SLOTS), learner.version, dtype=torch.int32),
                initial,
                {"log_prob": log_prob.clone(), "value": value.clone()},
            )
        )
    return float(np.mean(scores[-20:]))


def config(**options: Any) -> LearningConfig:
    return one_pass(
        batch_steps=SLOTS * STEPS,
        **{"learning_rate": 5e-3, "entropy_coef": 0.003, "epochs": 2, **options},
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"value_clip": 0.2},
        {"ppo_clip": False},
        {"vtrace": False},
        {"vtrace": False, "ppo_clip": False, "epochs": 1},
    ],
    ids=str,
)
def test_a_bandit_with_masked_heads_is_learned_in_every_variant(options: dict[str, Any]) -> None:
    assert train(Bandit, ModelConfig(hidden=(16,)), config(**options), updates=60) > 0.9


@pytest.mark.parametrize(
    ("core", "learned"),
    [
        ("gru", lambda score: score > 0.95),
        ("lstm", lambda score: score > 0.95),
        ("none", lambda score: 0.4 < score < 0.6),
    ],
    ids=["gru", "lstm", "none"],
)
def test_a_cue_is_remembered_with_a_recurrent_core_and_not_without(
    core: str, learned: Callable[[float], bool]
) -> None:
    score = train(
        Recall,
        ModelConfig(hidden=(16,), activation="tanh", **memory(core, 16)),
        config(gamma=0.9),
        updates=120,
    )
    assert learned(score), score
