"""APPO: an actor-critic with PPO's clip and V-trace, each of which has a switch.

Petrenko et al. 2020, "Sample Factory", section 3.4. Without V-trace the advantages are those of
GAE; without the clip, one pass and one part, it is A2C. A magnet is that of magnetic mirror
descent, Sokota et al. 2022, "A unified approach to reinforcement learning, quantal response
equilibria, and two-player zero-sum games".
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from pbt.algorithms import losses
from pbt.algorithms.base import Loss, LossInputs, Reducer
from pbt.algorithms.batch import Batch, zeroed_observations
from pbt.algorithms.vtrace import Targets, gae, vtrace
from pbt.config.learning import LearningConfig
from pbt.models.acting import ActingRule, Sampled
from pbt.models.distributions import Distribution
from pbt.models.policy_model import PolicyModel
from pbt.transport.slab import F32, Column

_MAGNET, _STEPS = "magnet", "steps"
_TARGET, _ADVANTAGE = "target", "advantage"


class Appo:
    """The Algorithm of the [learning] section.

    With a magnet its memory is "magnet", [parameters] float32, the average of its weights, and
    "steps", [1] int64, the optimiser's steps since the first one, -1 before it.
    """

    columns = (
        # Of the whole action, by the policy that acted.
        Column("log_prob", (), F32, "T", "policy server", np.nan),
        Column("value", (), F32, "T", "policy server", np.nan),
    )
    evidence = "log_prob"
    replay = None
    scales_returns = True

    def __init__(self, config: LearningConfig) -> None:
        self._config = config
        self._magnet = config.magnet_coef > 0.0
        own = ("magnet",) if self._magnet else ()
        self.sums = ("policy", "value_error", "entropy", "value", "kl", "clipped", "error", *own)

    def rule(self, *, explores: bool) -> ActingRule:
        """See Algorithm. Live and frozen policies are sampled alike."""
        return Sampled()

    def explore(self, model: PolicyModel, values: Mapping[str, float], frames: int) -> None:
        """The policy itself explores."""

    def memory(self, parameters: Tensor) -> dict[str, Tensor]:
        """See Algorithm. There is none without a magnet."""
        if not self._magnet:
            return {}
        # Before the first step the weights are the magnet: they may have been put in place since.
        steps = torch.full((1,), -1, dtype=torch.int64, device=parameters.device)
        return {_MAGNET: parameters.clone(), _STEPS: steps}

    def after_step(self, memory: Mapping[str, Tensor], parameters: Tensor) -> None:
        """See Algorithm. The magnet follows the weights."""
        if self._magnet:
            first = int(memory[_STEPS]) < 0
            memory[_STEPS].add_(1)
            decay = 0.0 if first else self._config.magnet_decay
            memory[_MAGNET].lerp_(parameters, 1.0 - decay)

    def loss(self, model: PolicyModel, inputs: LossInputs) -> Loss:
        """See Algorithm."""
        config, batch = self._config, inputs.batch
        valid, rows = batch.valid, batch.valid.shape[0]
        magnet = self._magnet_policy(model, inputs)
        chance, log_prob, values = _unrolled(model, batch)
        acted = torch.where(valid, batch.acted["log_prob"], 0.0)
        log_rhos = torch.where(valid, log_prob - acted, 0.0)
        if _TARGET in batch.acted:
            fixed = batch.acted[_ADVANTAGE]
            targets = Targets(batch.acted[_TARGET], fixed, fixed)
        else:
            targets = self.targets(inputs, log_rhos.detach(), values.detach())
        advantages = self.advantages(targets, log_rhos.detach(), valid, inputs.reducer)
        if config.ppo_clip:
            policy = losses.ppo_clip_loss(log_rhos, advantages, valid, config.ratio_clip)
        else:
            policy = losses.policy_gradient_loss(log_prob, advantages, valid)
        errors = value = losses.value_loss(values[:rows], targets.vs, valid)
        if config.value_clip is not None:
            steps = values[:rows], targets.vs, _acted_values(inputs), valid
            value = losses.clipped_value_loss(*steps, config.value_clip)
        entropy = losses.entropy_sum(chance.entropy(), valid)
        total = policy + config.value_coef * value - inputs.values["entropy_coef"] * entropy
        with torch.no_grad():
            spread = self._spread(log_rhos, targets.vs, values[:rows], valid)
        parts = [policy, errors, entropy, *spread]
        if magnet is not None:
            parts.append(torch.where(valid, chance.divergence(magnet), 0.0).sum())
            total = total + config.magnet_coef * parts[-1]
        return Loss(total, targets.vs, log_prob.detach(), dict(zip(self.sums, parts, strict=True)))

    def _magnet_policy(self, model: PolicyModel, inputs: LossInputs) -> Distribution | None:
        """What the magnet would do; None without one. It comes before the model's own pass."""
        if not self._magnet:
            return None
        known = inputs.memory[_STEPS] >= 0
        magnet = torch.where(known, inputs.memory[_MAGNET], inputs.parameters)
        with torch.no_grad(), inputs.at(magnet):
            return _unrolled(model, inputs.batch)[0]

    def recomputed(self, model: PolicyModel, batch: Batch) -> Tensor:
        """See Algorithm."""
        return _unrolled(model, batch)[1]

    def targets(self, inputs: LossInputs, log_rhos: Tensor, values: Tensor) -> Targets:
        """Value targets and advantages.

        A row that only carries a final observation gets its own value as its target, so nothing is
        carried through it to other rows.

        values  [T+1, B]
        """
        config, valid = self._config, inputs.batch.valid
        rows = valid.shape[0]
        rewards = torch.where(valid, inputs.rewards, values[:rows])
        if config.vtrace:
            clips = {"rho_clip": config.vtrace_rho, "c_clip": config.vtrace_c}
            return vtrace(
                log_rhos,
                inputs.discounts,
                rewards,
                values[:rows],
                values[rows],
                lam=config.gae_lambda,
                **clips,
            )
        return gae(inputs.discounts, rewards, values[:rows], values[rows], lam=config.gae_lambda)

    def fixed(self, model: PolicyModel, inputs: LossInputs) -> Batch:
        """See Algorithm. Targets by GAE, from the values that the policies predicted in acting."""
        batch = inputs.batch
        values = _predicted(model, inputs)
        targets = self.targets(inputs, torch.zeros_like(values[:-1]), values)
        own = {_TARGET: targets.vs, _ADVANTAGE: targets.td}
        return replace(batch, acted={**batch.acted, **own})

    def advantages(
        self, targets: Targets, log_rhos: Tensor, valid: Tensor, reducer: Reducer
    ) -> Tensor:
        """The advantages for the policy loss.

        They are normalised over all shards if the config says so, and get their importance weight
        here where the loss has no ratio.
        """
        advantages = targets.td
        if self._config.normalize_advantages:
            moments = losses.moments(reducer.sum(losses.moment_sums(advantages, valid)))
            advantages = losses.normalized(advantages, moments)
        return (
            advantages
            if self._config.ppo_clip
            else log_rhos.exp().clamp(max=self._config.vtrace_rho) * advantages
        )

    def _spread(
        self, log_rhos: Tensor, targets: Tensor, values: Tensor, valid: Tensor
    ) -> tuple[Tensor, ...]:
        """Sums of values, of KL estimates, of ratios outside the clip, and of value errors."""
        ratios, clip = log_rhos.exp(), self._config.ratio_clip
        outside = (ratios > clip) | (ratios < 1.0 / clip)
        return (
            torch.where(valid, values, 0.0).sum(),
            (ratios - 1.0 - log_rhos).sum(),
            outside.sum(),
            torch.where(valid, targets - values, 0.0).sum(),
        )

    def means(self, sums: Mapping[str, float]) -> dict[str, float]:
        """Means over the valid steps.

        policy_loss         mean
        value_loss          mean squared error of the values, whether or not the loss is clipped
        entropy             mean, in nats
        value               mean value estimate
        kl                  mean estimate of KL(mu || pi), in nats
        clip_fraction       share of steps with a ratio outside the clip
        explained_variance  1 - Var(target - value) / Var(target), 0 where the targets do not vary
        magnet_kl           mean divergence from the magnet, in nats, where there is one
        """
        steps = max(sums["steps"], 1.0)
        mean = {name: total / steps for name, total in sums.items()}
        variance = mean["target_squares"] - mean["target"] ** 2
        left = mean["value_error"] - mean["error"] ** 2
        explained = 1.0 - left / max(variance, 1e-12)
        return {
            "policy_loss": mean["policy"],
            "value_loss": mean["value_error"],
            "entropy": mean["entropy"],
            "value": mean["value"],
            "kl": mean["kl"],
            "clip_fraction": mean["clipped"],
            "explained_variance": explained if variance > 1e-12 else 0.0,
            **({"magnet_kl": mean["magnet"]} if self._magnet else {}),
        }


def _unrolled(model: PolicyModel, batch: Batch) -> tuple[Distribution, Tensor, Tensor]:
    """The distribution of actions; log-probabilities of those taken, [T, B]; values, [T+1, B]."""
    outputs, values = model.unroll(
        zeroed_observations(batch), batch.mask, batch.episode_start, batch.initial_state
    )
    chance = model.distribution(outputs[: len(batch.valid)])
    actions = torch.where(batch.valid.unsqueeze(-1), batch.actions, 0)
    return chance, chance.log_prob(actions), values


def _predicted(model: PolicyModel, inputs: LossInputs) -> Tensor:
    """What was predicted in acting, [T+1, B]; by the present weights where nothing acted."""
    batch = inputs.batch
    acted = torch.cat([batch.valid, torch.zeros_like(batch.valid[:1])])
    leaves = zeroed_observations(batch).items()
    others = {name: leaf[~acted].unsqueeze(0) for name, leaf in leaves}
    slots = (~acted).nonzero(as_tuple=True)[1]
    behind = batch.mask[~acted].unsqueeze(0), batch.episode_start[~acted].unsqueeze(0)
    values = torch.zeros_like(acted, dtype=torch.float32)
    with torch.no_grad():
        _, others_values = model.unroll(others, *behind, batch.initial_state[slots])
        values[:-1] = torch.where(batch.valid, _acted_values(inputs), 0.0)
        values[~acted] = others_values[0]
    return values


def _acted_values(inputs: LossInputs) -> Tensor:
    """What the policies that acted predicted, in the unit of the value head, [T, B]."""
    values, versions = inputs.batch.acted["value"], inputs.batch.version
    return values if inputs.unit is None else inputs.unit(values, versions)
