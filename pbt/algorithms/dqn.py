"""DQN: deep Q-learning on replayed steps, with a target network.

Mnih et al. 2015, "Human-level control through deep reinforcement learning". The present weights
choose the action that a target is computed for (van Hasselt et al. 2016, "Deep reinforcement
learning with double Q-learning"). The network has streams of values and of advantages (Wang et al.
2016, "Dueling network architectures for deep reinforcement learning").
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import huber_loss

from pbt.algorithms.base import Loss, LossInputs, ReplayRules
from pbt.algorithms.batch import Batch, zeroed_observations
from pbt.config.learning import DqnConfig
from pbt.models.acting import Acting, ActingRule, Chosen, Outputs
from pbt.models.policy_model import PolicyModel
from pbt.transport.slab import F32, Column

# How often a frozen player takes any legal action.
FROZEN_EPSILON = 0.01
_TARGET, _STEPS = "target", "steps"


def action_values(logits: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """The values of all actions, [..., A]; those of illegal ones are far below.

    The advantages are the logits less their mean over the legal actions.

    logits  [..., A], masked
    values  [...]
    mask    [..., A] bool; where no action is legal, all count as legal
    """
    legal = _legal(mask)
    total = torch.where(legal, logits, 0.0).sum(-1, keepdim=True)
    return values.unsqueeze(-1) + logits - total / legal.sum(-1, keepdim=True)


def _legal(mask: Tensor) -> Tensor:
    return mask | ~mask.any(-1, keepdim=True)


class EpsilonGreedy(ActingRule):
    """Takes the action of the largest value, and now and then any legal one.

    A live policy does the latter with probability epsilon^(1 + spread * u), where u is drawn for
    every seat of a game: so games differ in how much they explore, as the actors of Horgan et al.
    2018, "Distributed prioritized experience replay". A frozen policy does with FROZEN_EPSILON.

    epsilon  [1] float32, which the learner sets and publishes
    """

    noise = 1
    epsilon: Tensor

    def __init__(self, spread: float, *, explores: bool) -> None:
        """explores: it acts for a live policy."""
        super().__init__()
        self._spread, self._explores = spread, explores
        self.register_buffer("epsilon", torch.ones(1))

    def choose(self, model: Acting, outputs: Outputs, uniforms: Tensor) -> Chosen:
        """See ActingRule. One number says whether to explore, and then which action to take."""
        of_all, own = action_values(*outputs), uniforms[:, 0]
        epsilon = torch.full_like(own, FROZEN_EPSILON)
        if self._explores:
            epsilon = self.epsilon.double() ** (1.0 + self._spread * uniforms[:, 1])
        counted = _legal(outputs.mask).cumsum(-1)
        share = (own / epsilon).clamp(max=1.0 - 2.0**-52)
        before = (share * counted[:, -1]).long().unsqueeze(-1)
        explored = (counted <= before).sum(-1, keepdim=True)
        best = of_all.argmax(-1, keepdim=True)
        return _kept(of_all, torch.where((own < epsilon).unsqueeze(-1), explored, best))

    def best(self, model: Acting, outputs: Outputs) -> Chosen:
        """See ActingRule."""
        of_all = action_values(*outputs)
        return _kept(of_all, of_all.argmax(-1, keepdim=True))

    def chances(self, outputs: Outputs) -> Tensor:
        """See ActingRule. It is that of a frozen policy."""
        best, legal = action_values(*outputs).argmax(-1, keepdim=True), _legal(outputs.mask)
        explored = legal.double() / legal.sum(-1, keepdim=True) * FROZEN_EPSILON
        return explored.scatter_add(
            -1, best, torch.full_like(best, 1.0 - FROZEN_EPSILON, dtype=torch.float64)
        )


def _kept(of_all: Tensor, actions: Tensor) -> Chosen:
    return Chosen(actions, {"action_value": of_all.gather(-1, actions).squeeze(-1)})


class Dqn:
    """The Algorithm of the [dqn] section, for games with one choice a step.

    Its memory: "target", [parameters] float32, the weights that targets are computed with, and
    "steps", [1] int64, the optimiser's steps since the first one, -1 before it.
    """

    columns = (
        # Of the action, by the policy that acted.
        Column("action_value", (), F32, "T", "policy server", np.nan),
    )
    evidence = "action_value"
    sums = ("loss", "value", "error", "error_squares")
    scales_returns = False

    def __init__(self, config: DqnConfig) -> None:
        self._config = config
        sizes = config.replay_rows, config.least_rows, config.batch_rows
        self.replay = ReplayRules(*sizes, config.training_intensity)

    def rule(self, *, explores: bool) -> ActingRule:
        """See Algorithm."""
        return EpsilonGreedy(self._config.epsilon_spread, explores=explores)

    def explore(self, model: PolicyModel, values: Mapping[str, float], frames: int) -> None:
        """See Algorithm. Epsilon falls in a line, from its start to its end."""
        assert isinstance(model.rule, EpsilonGreedy)
        first, last = self._config.epsilon_start, values["epsilon_end"]
        done = min(1.0, frames / self._config.epsilon_frames)
        model.rule.epsilon.fill_(first + (last - first) * done)

    def memory(self, parameters: Tensor) -> dict[str, Tensor]:
        """See Algorithm."""
        # Before the first step the weights are the target: they may have been put in place since.
        steps = torch.full((1,), -1, dtype=torch.int64, device=parameters.device)
        return {_TARGET: parameters.clone(), _STEPS: steps}

    def after_step(self, memory: Mapping[str, Tensor], parameters: Tensor) -> None:
        """See Algorithm. Now and then the target becomes what was learned."""
        memory[_STEPS].add_(1)
        if int(memory[_STEPS]) % self._config.target_steps == 0:
            memory[_TARGET].copy_(parameters)

    def fixed(self, model: PolicyModel, inputs: LossInputs) -> Batch:
        """See Algorithm. Never called: it replays, and targets are those of the target network."""
        return inputs.batch

    def loss(self, model: PolicyModel, inputs: LossInputs) -> Loss:
        """See Algorithm. It is Huber's, of the distance of an action's value from its target."""
        batch, valid = inputs.batch, inputs.batch.valid
        known = inputs.memory[_STEPS] >= 0
        target = torch.where(known, inputs.memory[_TARGET], inputs.parameters)
        with torch.no_grad(), inputs.at(target):
            targets = _unrolled(model, batch)[1:]
        of_all = _unrolled(model, batch)
        values = _of_actions(of_all[:-1], batch)
        choosing = of_all.detach()[1:] if self._config.double else targets
        following = targets.gather(-1, choosing.argmax(-1, keepdim=True)).squeeze(-1)
        goals = inputs.rewards + inputs.discounts * following
        goals = torch.where(valid, goals, values.detach())
        total = huber_loss(values, goals, reduction="none").sum()
        errors = goals - values.detach()
        parts = total.detach(), torch.where(valid, values.detach(), 0.0).sum(), errors.sum()
        sums = dict(zip(self.sums, (*parts, errors.square().sum()), strict=True))
        return Loss(total, goals, values.detach(), sums)

    def recomputed(self, model: PolicyModel, batch: Batch) -> Tensor:
        """See Algorithm."""
        return _of_actions(_unrolled(model, batch)[:-1], batch)

    def means(self, sums: Mapping[str, float]) -> dict[str, float]:
        """Means over the steps that were trained on.

        value_loss          mean squared distance of values from their targets
        value               mean value of the actions
        td_error            mean distance of the targets from the values
        explained_variance  1 - Var(target - value) / Var(target), 0 where the targets do not vary
        """
        steps = max(sums["steps"], 1.0)
        mean = {name: total / steps for name, total in sums.items()}
        variance = mean["target_squares"] - mean["target"] ** 2
        left = mean["error_squares"] - mean["error"] ** 2
        return {
            "value_loss": mean["error_squares"],
            "value": mean["value"],
            "td_error": mean["error"],
            "explained_variance": 1.0 - left / variance if variance > 1e-12 else 0.0,
        }


def _unrolled(model: PolicyModel, batch: Batch) -> Tensor:
    """The values of all actions in all rows, [T+1, B, A]."""
    logits, values = model.unroll(
        zeroed_observations(batch), batch.mask, batch.episode_start, batch.initial_state
    )
    return action_values(logits, values, batch.mask)


def _of_actions(of_all: Tensor, batch: Batch) -> Tensor:
    """The values of the actions that were taken, [T, B]; of_all: [T, B, A]."""
    actions = torch.where(batch.valid.unsqueeze(-1), batch.actions, 0)
    return of_all.gather(-1, actions).squeeze(-1)
