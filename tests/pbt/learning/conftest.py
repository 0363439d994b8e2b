"""Batches as the engine would fill them: acted step by step, poison where nothing was written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor

from pbt.algorithms.batch import Batch
from pbt.config.learning import LearningConfig, ModelConfig
from pbt.envs.contract import Role
from pbt.hyperparams import Hyperparams
from pbt.learning.learner import Learner
from pbt.models.policy_model import PolicyModel, build_model
from pbt.transport.slab import RoleLayout, role_layout
from tests.pbt.learning.one_pass import hyperparams_of, one_pass

NAN = float("nan")


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@dataclass
class Bench:
    """A small learner and the batches it would get.

    terms  reward terms
    end    probability that a step terminates the episode
    cut    probability that a step truncates the episode
    """

    config: LearningConfig = field(default_factory=lambda: one_pass(learning_rate=1e-2))
    model_config: ModelConfig = field(
        default_factory=lambda: ModelConfig(hidden=(16,), core="gru", gru_size=8)
    )
    heads: Sequence[int] = (3, 2)
    terms: tuple[str, ...] = ("kill", "ammo")
    steps: int = 6
    end: float = 0.15
    cut: float = 0.15
    observation: gymnasium.Space[object] = field(
        default_factory=lambda: spaces.Box(-np.inf, np.inf, (5,), np.float32)
    )

    @property
    def layout(self) -> RoleLayout:
        action: gymnasium.Space[object] = (
            spaces.MultiDiscrete(self.heads)
            if len(self.heads) > 1
            else spaces.Discrete(self.heads[0])
        )
        return role_layout(Role("player", self.observation, action), self.terms, self.steps, 0)

    def model(self, seed: int = 0) -> PolicyModel:
        """Weights far from the uniform start, so that differences show."""
        model = build_model(self.layout, self.model_config, seed)
        torch.nn.init.normal_(
            model.heads.weight, std=0.5, generator=torch.Generator().manual_seed(seed)
        )
        return model

    def learner(
        self, seed: int = 0, member: str = "m0", hyperparams: Hyperparams | None = None
    ) -> Learner:
        return Learner(
            self.model(seed),
            self.config,
            hyperparams or self.hyperparams(),
            self.terms,
            key=(1, member),
        )

    def hyperparams(self) -> Hyperparams:
        config, terms = self.config, enumerate(self.terms)
        shaping = {term: 0.5 + i for i, term in terms}
        return hyperparams_of(shaping, config.learning_rate, config.entropy_coef, config.adam_beta1)

    def batch(self, model: PolicyModel, slots: int = 8, seed: int = 0, version: int = 0) -> Batch:
        """A batch whose rows were acted by `model`.

        It has masks, ends of episodes, final observations after truncations, and poison where the
        worker wrote nothing.
        """
        rng, T, B = np.random.default_rng(seed), self.steps, slots
        width, heads = sum(self.heads), len(self.heads)
        size, images = (
            (T + 1, B, *(self.observation.shape or ())),
            self.observation.dtype == np.uint8,
        )
        observations = (
            torch.from_numpy(rng.integers(0, 256, size, np.uint8))
            if images
            else torch.from_numpy(rng.normal(size=size)).float()
        )
        mask = torch.from_numpy(rng.random((T + 1, B, width)) < 0.8)
        initial = torch.from_numpy(rng.normal(size=(B, model.state_size))).float()
        terminated, truncated, valid = (torch.zeros(T, B, dtype=torch.bool) for _ in range(3))
        start, previous = (
            torch.zeros(T + 1, B, dtype=torch.bool),
            torch.from_numpy(rng.random(B) < 0.3),
        )
        final = torch.zeros(B, dtype=torch.bool)
        actions, log_prob, value = (
            torch.full((T, B, heads), -1),
            torch.full((T, B), NAN),
            torch.full((T, B), NAN),
        )
        state = initial
        for t in range(T + 1):
            start[t] = previous & ~final
            if t == T:
                break
            with torch.inference_mode():
                out = model.act(
                    {"observation": observations[t]},
                    mask[t],
                    start[t],
                    state,
                    torch.from_numpy(rng.random((B, heads))),
                )
            state, valid[t] = out.state.clone(), ~final
            actions[t] = torch.where(valid[t].unsqueeze(-1), out.actions, -1)
            log_prob[t], value[t] = (
                torch.where(valid[t], out.columns["log_prob"], NAN),
                torch.where(valid[t], out.columns["value"], NAN),
            )
            draw = torch.from_numpy(rng.random(B))
            terminated[t] = valid[t] & (draw < self.end)
            truncated[t] = valid[t] & (draw > 1 - self.cut)
            previous, final = terminated[t] | truncated[t] | ~valid[t], truncated[t]
        rewards = torch.where(
            valid.unsqueeze(-1),
            torch.from_numpy(rng.normal(size=(T, B, len(self.terms)))).float(),
            NAN,
        )
        # Row T was never written where nothing follows row T-1.
        observations[T, terminated[-1] | ~valid[-1]] = 113 if images else NAN
        tics = torch.where(valid, torch.from_numpy(rng.integers(1, 5, (T, B))).int(), -1)
        versions = torch.where(valid, version, -1).int()
        return Batch(
            {"observation": observations},
            mask,
            start,
            valid,
            rewards,
            terminated,
            truncated,
            tics,
            actions,
            versions,
            initial,
            {"log_prob": log_prob, "value": value},
        )


@pytest.fixture
def make_bench() -> Callable[..., Bench]:
    return Bench


@pytest.fixture
def weights_of() -> Callable[[Learner], Tensor]:
    """All parameters of a learner's model as one vector."""
    return lambda learner: torch.cat(
        [p.detach().reshape(-1).clone() for p in learner.model.parameters()]
    )
