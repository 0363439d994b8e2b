"""One member's learner: batches in, new weights out.

An update is `epochs` passes over a batch in `minibatches` parts; every part is gradients -> sum
over shards -> clip -> Adam. Shards of one member each run a Learner of their own over their part of
the batch; the Reducer between `gradients` and `apply` keeps these replicas bit-equal.
"""

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from pbt.config.schema import LearningConfig
from pbt.errors import EngineError
from pbt.hyperparams import Hyperparams
from pbt.learning import losses
from pbt.learning.batch import Batch
from pbt.learning.optimizer import FlatAdam
from pbt.learning.reducer import Reducer, SingleReducer
from pbt.learning.statistics import StepSums, UpdateStats, lag_sums, update_stats
from pbt.learning.vtrace import Targets, gae, vtrace
from pbt.models.distributions import joint_entropy, joint_log_prob, log_probabilities
from pbt.models.policy_model import PolicyModel
from pbt.models.weights import check_shapes
from pbt.seeding import Key, generator
from pbt.transport.staging import to_host

MAX_SKIPS_IN_A_ROW = 10
LOWER = "lower learning.learning_rate, or look for nan in the game's observations and rewards"
_MODEL, _ADAM, _CLOCKS = "model.", "adam.", "clocks"


class Learner:
    """Owns the model's weights, the optimiser and the member's clocks.

    version  of the weights: +1 for every batch that changed them, however many optimiser steps that
             took
    frames   tics of valid steps over all shards, counted once whatever the epochs
    skipped  optimiser steps refused because the gradient or the loss was not finite
    """

    def __init__(
        self,
        model: PolicyModel,
        config: LearningConfig,
        hyperparams: Hyperparams,
        reward_terms: tuple[str, ...],
        *,
        key: tuple[Key, ...],
        stop_at_frames: int | None = None,
    ) -> None:
        """model: on the device to train on. reward_terms: the last axis of Batch.rewards.

        key: (run seed, ..., member), seeds the minibatch shuffles and names the member in errors.
        stop_at_frames: where `config.anneal_to` is reached; None: nothing is annealed.
        """
        if not key or not isinstance(key[0], int):
            raise EngineError(f"learner: key = {key!r}; expected (run seed, ..., member)")
        self.model = model
        self.config = config
        self._terms = reward_terms
        self._stop_at_frames = stop_at_frames
        self._key: tuple[int, tuple[Key, ...]] = (key[0], key[1:])
        self._adam = FlatAdam(model, beta2=config.adam_beta2, eps=config.adam_eps)
        self.version = self.frames = self.skipped = self._skips_in_a_row = 0
        self.set_hyperparams(hyperparams)

    @property
    def device(self) -> torch.device:
        """Where the model is, and where batches must be."""
        return self.model.heads.weight.device

    @property
    def member(self) -> str:
        return "/".join(str(part) for part in self._key[1])

    def set_hyperparams(self, hyperparams: Hyperparams) -> None:
        """Change what PBT may change; takes effect at the next gradient. Raises EngineError when
        a reward term has no shaping weight.
        """
        missing = [term for term in self._terms if term not in hyperparams.shaping]
        if missing:
            found = f"learner of {self.member}: shaping has {sorted(hyperparams.shaping)}"
            raise EngineError(f"{found}; expected a weight for {', '.join(missing)} as well")
        self.hyperparams = hyperparams
        weights = [hyperparams.shaping[term] * self.config.reward_scale for term in self._terms]
        self._shaping = torch.tensor(weights, device=self.device)

    def annealed(self, full: float) -> float:
        """What is in force now of a value that shrinks with the member's clock."""
        if self._stop_at_frames is None:
            return full
        done = min(1.0, self.frames / self._stop_at_frames)
        return full * (1.0 + (self.config.anneal_to - 1.0) * done)

    def update(self, batch: Batch, reducer: Reducer | None = None) -> UpdateStats:
        """Train on one batch (this shard's part of it). Returns the statistics of the whole batch,
        the same on every shard but for `lag_max`.

        Raises EngineError after MAX_SKIPS_IN_A_ROW steps without a finite gradient, and when a
        weight is not finite any more.
        """
        reducer = SingleReducer() if reducer is None else reducer
        lags = lag_sums(batch, self.version)
        sums, norms, skipped_before = StepSums.zeros(), [], self.skipped
        for part in self._parts(batch):
            gradient_and_weight, step_sums = self._gradients(part, reducer)
            total = reducer.sum(gradient_and_weight)
            weight = float(total[-1])
            if weight == 0.0:
                continue
            norm = self.apply(total[:-1], weight)
            if math.isfinite(norm):
                norms.append(norm)
                sums = sums + step_sums
        self.version += bool(norms)
        if not self._adam.is_finite():
            raise EngineError(
                f"learner of {self.member}: the weights left the range of numbers at version "
                f"{self.version} ({self._values()}); {LOWER}"
            )
        facts = reducer.sum(torch.cat([lags.vector, sums.vector]))
        self.frames += int(facts[0])
        self._observe(batch, reducer)
        return update_stats(
            facts,
            norms,
            lags.largest,
            version=self.version,
            skipped_steps=self.skipped - skipped_before,
        )

    def _parts(self, batch: Batch) -> Iterator[Batch]:
        """The minibatches of every epoch, shuffled by slots."""
        parts = self.config.minibatches
        if batch.slots < parts:
            raise EngineError(
                f"learner of {self.member}: a batch of {batch.slots} slots; expected at "
                f"least learning.minibatches = {parts}"
            )
        begun = self.version
        for epoch in range(self.config.epochs):
            if parts == 1:
                yield batch
                continue
            order = torch.from_numpy(
                generator(self._key[0], *self._key[1], "shuffle", begun, epoch).permutation(
                    batch.slots
                )
            )
            yield from (
                batch.select(slots) for slots in order.to(batch.valid.device).tensor_split(parts)
            )

    def gradients(self, batch: Batch, reducer: Reducer | None = None) -> tuple[Tensor, float]:
        """(gradient, weight) of this shard: [parameters] float32, the gradient of the loss SUMMED
        over its valid steps, and their number.

        Add both over the shards and divide: the mean gradient, for `apply`. The reducer is used for
        the moments that normalise advantages, so they are those of all shards. All nan when the
        loss is not finite, so that every shard refuses the step.
        """
        gradient_and_weight, _ = self._gradients(
            batch, SingleReducer() if reducer is None else reducer
        )
        return gradient_and_weight[:-1], float(gradient_and_weight[-1])

    def _gradients(self, batch: Batch, reducer: Reducer) -> tuple[Tensor, StepSums]:
        """The gradient with the weight behind it, [parameters + 1]: shards add both at once."""
        config, valid, rows = self.config, batch.valid, batch.valid.shape[0]
        logits, values = self.model.unroll(
            zero_absent_rows(batch), batch.mask, batch.episode_start, batch.initial_state
        )
        log_probs = log_probabilities(logits[:rows], self.model.head_sizes)
        actions = torch.where(valid.unsqueeze(-1), batch.actions, 0)
        log_prob = joint_log_prob(log_probs, actions, self.model.head_sizes)
        log_rhos = torch.where(valid, log_prob - torch.where(valid, batch.log_prob, 0.0), 0.0)
        targets = self._targets(batch, log_rhos.detach(), values.detach())
        advantages = self._advantages(targets, log_rhos.detach(), valid, reducer)
        if config.ppo_clip:
            policy = losses.ppo_clip_loss(log_rhos, advantages, valid, config.ratio_clip)
        else:
            policy = losses.policy_gradient_loss(log_prob, advantages, valid)
        value = losses.value_loss(values[:rows], targets.vs, valid)
        entropy = losses.entropy_sum(joint_entropy(log_probs), valid)
        loss = (
            policy
            + config.value_coef * value
            - self.annealed(self.hyperparams.entropy_coef) * entropy
        )
        gradient_and_weight = self._adam.gradient_of(loss, valid.sum())
        if not math.isfinite(float(loss.detach())):
            gradient_and_weight[:-1] = math.nan
        sums = StepSums.of(
            policy, value, entropy, log_rhos, targets.vs, values[:rows], valid, config.ratio_clip
        )
        return gradient_and_weight, sums

    def _targets(self, batch: Batch, log_rhos: Tensor, values: Tensor) -> Targets:
        """Value targets and advantages. A row that only carries a final observation gets its own
        value as target: nothing flows through it.
        """
        config, valid, rows = self.config, batch.valid, batch.valid.shape[0]
        shaped = torch.where(valid.unsqueeze(-1), batch.rewards, 0.0) @ self._shaping
        rewards = torch.where(valid, shaped, values[:rows])
        discounts = torch.where(valid & ~batch.terminated, config.gamma, 0.0)
        if config.vtrace:
            clips = {"rho_clip": config.vtrace_rho, "c_clip": config.vtrace_c}
            return vtrace(
                log_rhos,
                discounts,
                rewards,
                values[:rows],
                values[rows],
                lam=config.gae_lambda,
                **clips,
            )
        return gae(discounts, rewards, values[:rows], values[rows], lam=config.gae_lambda)

    def _advantages(
        self, targets: Targets, log_rhos: Tensor, valid: Tensor, reducer: Reducer
    ) -> Tensor:
        """What the policy loss multiplies: normalised over all shards when asked, with its
        importance weight where the loss has no ratio.
        """
        advantages = targets.td
        if self.config.normalize_advantages:
            moments = losses.moments(reducer.sum(losses.moment_sums(advantages, valid)))
            advantages = losses.normalized(advantages, moments)
        return (
            advantages
            if self.config.ppo_clip
            else log_rhos.exp().clamp(max=self.config.vtrace_rho) * advantages
        )

    def apply(self, gradient: Tensor, weight: float = 1.0) -> float:
        """One optimiser step on the mean gradient of all shards. Returns its norm before clipping;
        not finite = the step was skipped.

        gradient: [parameters], summed over so many steps as `weight` says; overwritten.
        Raises EngineError after MAX_SKIPS_IN_A_ROW skipped steps.
        """
        norm = float(torch.linalg.vector_norm(gradient)) / weight
        if not math.isfinite(norm):
            self.skipped += 1
            self._skips_in_a_row += 1
            if self._skips_in_a_row >= MAX_SKIPS_IN_A_ROW:
                raise EngineError(self._diverged())
            return norm
        self._skips_in_a_row = 0
        scale = min(1.0, self.config.max_grad_norm / (norm + 1e-6))
        self._adam.step(
            gradient.mul_(scale / weight),
            self.annealed(self.hyperparams.learning_rate),
            self.hyperparams.adam_beta1,
        )
        return norm

    def _diverged(self) -> str:
        found = (
            f"{self._skips_in_a_row} updates in a row without a finite gradient at "
            f"version {self.version} ({self._values()})"
        )
        return f"learner of {self.member}: {found}; {LOWER}"

    def _values(self) -> str:
        return ", ".join(f"{name} = {value:g}" for name, value in self.hyperparams.flat().items())

    def _observe(self, batch: Batch, reducer: Reducer) -> None:
        """Let the observation statistics see the batch. After the last step, since they are part
        of the policy that the ratios compare.
        """
        for name, part, statistics in self.model.encoder.normalizers():
            steps, slots = observed_places(batch.valid, part.observed_rows, self.version)
            seen = batch.observations[name][steps, slots]
            statistics.merge(reducer.sum(statistics.sums(part.numbers(seen))))

    def state(self) -> dict[str, Tensor]:
        """Everything but config and hyperparameters, copied to the CPU: weights, normaliser,
        moments, clocks. Loaded, it continues bit for bit.
        """
        return to_host(self.tensors())

    def tensors(self) -> dict[str, Tensor]:
        """What `state` copies, on the learner's device: the next update changes it. For a reader
        that copies at once, as publishing does.
        """
        clocks = torch.tensor(
            [self.version, self.frames, self.skipped, self._skips_in_a_row], device=self.device
        )
        model = {_MODEL + name: tensor for name, tensor in self.model.state_dict().items()}
        return {
            **model,
            **{_ADAM + name: tensor for name, tensor in self._adam.tensors().items()},
            _CLOCKS: clocks,
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from `state()`. Raises SnapshotError naming what does not fit."""
        self.copy_from(state)
        self.version, self.frames, self.skipped, self._skips_in_a_row = (
            int(n) for n in state[_CLOCKS]
        )

    def copy_from(self, state: Mapping[str, Tensor]) -> None:
        """PBT's copy: weights, normaliser statistics and optimiser moments of another member's
        `state()`; the clocks stay one's own.
        """
        check_shapes(self.tensors(), state, f"state for the learner of {self.member}")
        self.model.load_state_dict(
            {
                name.removeprefix(_MODEL): tensor
                for name, tensor in state.items()
                if name.startswith(_MODEL)
            }
        )
        self._adam.load_state(
            {
                name.removeprefix(_ADAM): tensor
                for name, tensor in state.items()
                if name.startswith(_ADAM)
            }
        )
        self._skips_in_a_row = 0


def observed_places(valid: Tensor, rows: int | None, turn: int) -> tuple[Tensor, Tensor]:
    """(steps, slots) of the valid rows that the observation statistics see: about `rows` of them,
    None for all.

    valid: [T, B] bool;  turn: of the update, by which other steps come up each time
    They are spread over the slots: the rows of one slot follow each other and are alike.
    """
    slots, steps = valid.t().nonzero(as_tuple=True)
    stride = 1 if rows is None else max(1, len(slots) // rows)
    return steps[turn % stride :: stride], slots[turn % stride :: stride]


def zero_absent_rows(batch: Batch) -> dict[str, Tensor]:
    """The batch's observations, row T zero where nothing follows row T-1: it was never written, and
    poison would reach the weights through 0 * nan.

    In place: a clone of all images would cost as much as a convolution.
    """
    absent = ~batch.valid[-1] | batch.terminated[-1]
    for leaf in batch.observations.values():
        leaf.detach()[-1, absent] = 0
    return batch.observations
