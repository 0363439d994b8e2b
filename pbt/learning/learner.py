"""A learner trains one member: it takes batches and changes the weights.

An update has parts: those of a batch in some passes, or steps of a replay
(`pbt/learning/experience.py`). For every part it computes the gradient, sums it over the shards,
clips it, and the optimiser takes a step. Each shard runs a Learner of its own on its part of the
batch; the sums keep these replicas equal bit for bit.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import torch
from torch import Tensor

from pbt.algorithms.appo import Appo
from pbt.algorithms.base import Algorithm, LossInputs, Reducer
from pbt.algorithms.batch import Batch, observed_places, rows_of
from pbt.config.learning import HYPERPARAMS, LearningConfig
from pbt.errors import EngineError
from pbt.hyperparams import Hyperparams
from pbt.learning.behaviour import BehaviourWeights
from pbt.learning.divergence import advice
from pbt.learning.experience import new_experience
from pbt.learning.optimizer import FlatParameters, new_optimizer
from pbt.learning.reducer import SingleReducer
from pbt.learning.return_scale import new_scale
from pbt.learning.statistics import StepSums, UpdateStats, lag_sums, update_stats
from pbt.learning.weight_copy import copy_weights
from pbt.models.policy_model import PolicyModel
from pbt.models.weights import MODEL_PREFIX, check_shapes
from pbt.seeding import Key, generator
from pbt.transport.slab import Slab
from pbt.transport.staging import to_host

MAX_SKIPS_IN_A_ROW = 10
_CLOCKS, _MEMORY = "clocks", "algorithm."


class Learner:
    """Owns the model's weights, the optimiser and the member's clocks.

    algorithm   the formulas of its loss
    experience  makes the parts of an update
    parameters  the model's, as one vector
    version     of what acts: +1 for every batch that changed it, however many optimiser steps
    frames      tics of valid steps over all shards, counted once for all epochs
    skipped     optimiser steps that were skipped: the gradient or the loss was not finite
    listener    called with every part of a batch and `Loss.evidence` of it, [T, B]
    """

    def __init__(
        self,
        model: PolicyModel,
        config: LearningConfig,
        hyperparams: Hyperparams,
        reward_terms: tuple[str, ...],
        *,
        key: tuple[int, *tuple[Key, ...]],
        stop_at_frames: int | None = None,
        algorithm: Algorithm | None = None,
        replay: Slab | None = None,
        delayed: bool = False,
    ) -> None:
        """model: on the device to train on.

        reward_terms    names of the last axis of Batch.rewards
        key             (run seed, ..., member): seeds the shuffles, names the member in errors
        stop_at_frames  where `config.anneal_to` is reached, None = nothing is annealed
        algorithm       None: APPO
        replay          the ring of an algorithm that replays
        delayed         gradients are those at the weights that acted (`BehaviourWeights`)
        """
        self.model, self.config, self.delayed = model, config, delayed
        self._terms, self._stop_at_frames = reward_terms, stop_at_frames
        self._key = key[0], key[1:]
        self.parameters = FlatParameters(model)
        self._optimizer = new_optimizer(config, self.parameters.vector)
        # What the latest step of this update was taken with.
        self._last_step: dict[str, float] = {}
        self.algorithm = Appo(config) if algorithm is None else algorithm
        self._memory = self.algorithm.memory(self.parameters.vector)
        self.algorithm.explore(model, hyperparams.values, 0)
        self.experience = new_experience(self.algorithm, config, self.member, replay, self.device)
        self._sums = StepSums(self.algorithm.sums)
        self._returns = new_scale(config, self.device) if self.algorithm.scales_returns else None
        self._behaviour = BehaviourWeights(model, self.parameters) if delayed else None
        self.version = self.frames = self.skipped = self._skips_in_a_row = 0
        self.listener: Callable[[Batch, Tensor], None] | None = None
        self._batch: Batch | None = None  # trained on at the moment, for messages
        self.set_hyperparams(hyperparams)

    @property
    def device(self) -> torch.device:
        """The device of the model, on which batches must be."""
        return self.model.heads.weight.device

    @property
    def member(self) -> str:
        return str(self._key[1][-1])

    def set_hyperparams(self, hyperparams: Hyperparams) -> None:
        """Change the hyperparameters, from the next gradient on.

        Raises EngineError when a reward term has no shaping weight.
        """
        missing = [term for term in self._terms if term not in hyperparams.shaping]
        if missing:
            problem = f"learner of {self.member}: shaping has {sorted(hyperparams.shaping)}"
            raise EngineError(f"{problem}; expected a weight for {', '.join(missing)} as well")
        self.hyperparams = hyperparams
        weights = [hyperparams.shaping[term] * self.config.reward_scale for term in self._terms]
        dtype = self.parameters.vector.dtype
        self._shaping = torch.tensor(weights, device=self.device, dtype=dtype)

    def values_used(self) -> dict[str, float]:
        """What the last update's steps were computed with, by the names of `Hyperparams.flat`.

        Some are annealed or scaled, as shaping weights are. Empty where the update took no step.
        """
        if not self._last_step:
            return {}
        shaping = dict(zip(self._terms, self._shaping.tolist(), strict=True))
        return Hyperparams(self._last_step, shaping).flat()

    def _annealed_values(self) -> dict[str, float]:
        """The hyperparameters that a gradient or a step is computed with now, by name."""
        factors, values = self.factors(), self.hyperparams.values
        return {name: value * factors.get(name, 1.0) for name, value in values.items()}

    def factors(self) -> dict[str, float]:
        """By what hyperparameters are multiplied now, by annealing and for the batch's size."""
        config, factors = self.config, dict[str, float]()
        if self._stop_at_frames is not None:
            done = min(1.0, self.frames / self._stop_at_frames)
            left = 1.0 + (config.anneal_to - 1.0) * done
            marked = [name for name, row in HYPERPARAMS.items() if row.mark.annealed]
            factors = {name: left for name in marked if name not in config.not_annealed}
        for name, factor in config.batch_factors.items():
            factors[name] = factors.get(name, 1.0) * factor
        return factors

    def update(
        self, batch: Batch, reducer: Reducer | None = None, round: int | None = None
    ) -> UpdateStats:
        """Train on this shard's part of a batch. round: learning phases that are over.

        Returns the statistics of the whole batch, but for lags that stand for this shard alone.
        Raises EngineError after MAX_SKIPS_IN_A_ROW steps without a finite gradient, and when a
        weight is not finite any more.
        """
        reducer = SingleReducer() if reducer is None else reducer
        lags = lag_sums(batch, self.version, round)
        sums, norms, skipped_before = self._sums.vector, [], self.skipped
        self._last_step, self._batch = {}, batch
        self._begin_returns(batch, reducer)
        for part in self._parts(batch):
            with self._acting(part):
                gradient_and_weight, step_sums = self._gradients(part, reducer)
            total = reducer.sum(gradient_and_weight)
            weight = float(total[-1])
            if weight == 0.0:
                continue
            norm = self.apply(total[:-1], weight)
            if math.isfinite(norm):
                norms.append(norm)
                sums = sums + step_sums
        # Where steps are replayed, exploration moves on with every batch.
        self.version += bool(norms) or self.algorithm.replay is not None
        if not self.parameters.is_finite():
            raise EngineError(
                f"learner of {self.member}: the weights left the range of numbers {self._values()}"
            )
        self._batch = None
        facts = reducer.sum(torch.cat([lags.vector, sums]))
        self.frames += int(facts[0])
        self.algorithm.explore(self.model, self.hyperparams.values, self.frames)
        totals = self._sums.named(facts)
        self._observe(batch, reducer, totals)
        clocks = {"version": self.version, "skipped_steps": self.skipped - skipped_before}
        means = self.algorithm.means(totals)
        return update_stats(facts, means, norms, lags, **clocks)

    def _begin_returns(self, batch: Batch, reducer: Reducer) -> None:
        """Let a batch say how large returns are, unless that is known."""
        if self._returns is not None:
            steps = self._rewards(batch), self._discounts(batch), batch.valid
            self._returns.begin(*steps, self.config.gae_lambda, reducer, self.version)

    def _acting(self, batch: Batch) -> AbstractContextManager[None]:
        """Within it the model computes with the weights at which gradients are taken."""
        own = self._behaviour
        return nullcontext() if own is None else own.acting(batch, self.version)

    def _parts(self, batch: Batch) -> Iterator[Batch]:
        """The parts of an update: what they are drawn by depends on the version alone."""
        seed, key = self._key
        draw = partial(generator, seed, *key, "shuffle", self.version)
        if self.config.shuffle == "rows" and self.algorithm.replay is None:
            inputs = self.loss_inputs(batch, SingleReducer())
            batch = rows_of(self.algorithm.fixed(self.model, inputs))
        return self.experience.parts(batch, draw)

    def gradients(
        self, batch: Batch, reducer: Reducer | None = None, *, at: Tensor | None = None
    ) -> tuple[Tensor, float]:
        """(gradient, weight) of this shard.

        The gradient, [parameters] float32, is that of the loss SUMMED over the valid steps; weight
        is their number. `apply` takes both, added over the shards. The gradient is nan when the
        loss is not finite, so that every shard skips the step. The reducer adds the moments that
        normalise advantages.

        at: the parameters, [parameters], at which the gradient is computed; None: the present ones,
        to which `apply` applies it in any case

        `update` does not call it. It is for callers that take the gradient apart from the step, as
        those do that need it at other parameters than it is applied to.
        """
        reducer = SingleReducer() if reducer is None else reducer
        with self.parameters.at(at):
            gradient_and_weight, _ = self._gradients(batch, reducer)
        return gradient_and_weight[:-1], float(gradient_and_weight[-1])

    def _gradients(self, batch: Batch, reducer: Reducer) -> tuple[Tensor, Tensor]:
        """The gradient followed by the weight, [parameters + 1]; shards add both at once.

        The second tensor holds the sums for the statistics, as `StepSums.vector`.
        """
        loss = self.algorithm.loss(self.model, self.loss_inputs(batch, reducer))
        if self.listener is not None:
            self.listener(batch, loss.evidence)
        # The backward pass.
        gradient_and_weight = self.parameters.gradient_of(loss.total, batch.valid.sum())
        if not math.isfinite(float(loss.total.detach())):
            gradient_and_weight[:-1] = math.nan
        return gradient_and_weight, self._sums.of(loss, batch.valid)

    def loss_inputs(self, batch: Batch, reducer: Reducer) -> LossInputs:
        """What the algorithm's loss is computed from, with the values in force."""
        values, scale = self._annealed_values(), self._returns
        unit = None if scale is None else scale.in_present_unit
        steps = self._rewards(batch), self._discounts(batch)
        present, at = self.parameters.present, self.parameters.at
        return LossInputs(present, batch, *steps, values, reducer, unit, self._memory, at)

    def _rewards(self, batch: Batch) -> Tensor:
        """The weighted rewards in the unit of the value head, [T, B]; 0 where not valid."""
        return torch.where(batch.valid.unsqueeze(-1), batch.rewards, 0.0) @ self._reward_weights()

    def _reward_weights(self) -> Tensor:
        return self._shaping if self._returns is None else self._shaping / self._returns.scale

    def _discounts(self, batch: Batch) -> Tensor:
        """[T, B]; 0 where nothing follows, and where not valid."""
        return torch.where(batch.valid & ~batch.terminated, self.config.gamma, 0.0)

    def apply(self, gradient: Tensor, weight: float = 1.0) -> float:
        """Take one optimiser step on gradient / weight, the mean over the steps of all shards.

        Returns the mean's norm before clipping; if that is not finite, the step was skipped. The
        gradient, [parameters], is overwritten. Raises EngineError after MAX_SKIPS_IN_A_ROW skips.
        """
        norm = float(torch.linalg.vector_norm(gradient)) / weight
        if not math.isfinite(norm):
            self.skipped += 1
            self._skips_in_a_row += 1
            if self._skips_in_a_row >= MAX_SKIPS_IN_A_ROW:
                refused = f"{self._skips_in_a_row} updates in a row without a finite gradient"
                raise EngineError(f"learner of {self.member}: {refused} {self._values()}")
            return norm
        self._skips_in_a_row = 0
        if self._behaviour is not None:
            self._behaviour.keep()
        scale = min(1.0, self.config.max_grad_norm / (norm + 1e-6))
        self._last_step = self._annealed_values()
        vector = self.parameters.vector
        self._optimizer.step(vector, gradient.mul_(scale / weight), self._last_step)
        self.algorithm.after_step(self._memory, vector)
        return norm

    def _values(self) -> str:
        """The end of a message: the version, the hyperparameters, and what to change."""
        values = (f"{name} = {value:g}" for name, value in self.hyperparams.flat().items())
        todo = advice(self._batch, self.model, self._reward_weights())
        return f"at version {self.version} ({', '.join(values)}); {todo}"

    def _observe(self, batch: Batch, reducer: Reducer, sums: Mapping[str, float]) -> None:
        """Add the batch to the statistics of observations and returns. sums: of all shards.

        This comes after the last step, since the ratios compare policies with equal statistics.
        """
        for name, part, statistics in self.model.encoder.normalizers():
            steps, slots = observed_places(batch.valid, part.observed_rows, self.version)
            observed = batch.observations[name][steps, slots]
            statistics.merge(reducer.sum(statistics.sums(part.numbers(observed))))
        if self._returns is not None:
            change = self._returns.follow(sums["steps"], sums["target_squares"], self.model)
            if self._behaviour is not None:
                self._behaviour.rescale_values(change)

    def state(self) -> dict[str, Tensor]:
        """A copy, on the CPU, of all that a learner needs to go on bit for bit.

        That is weights, normaliser statistics, optimiser moments and clocks, but neither config nor
        hyperparameters.
        """
        return to_host(self.tensors())

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of `state` on the learner's device, not copied; the next update changes them.

        They are for callers that copy them at once, as publishing does.
        """
        clocks = torch.tensor(
            [self.version, self.frames, self.skipped, self._skips_in_a_row], device=self.device
        )
        optimizer = self._optimizer
        model = {MODEL_PREFIX + name: tensor for name, tensor in self.model.state_dict().items()}
        return {
            **model,
            **{optimizer.PREFIX + name: tensor for name, tensor in optimizer.tensors().items()},
            **({} if self._returns is None else self._returns.tensors()),
            **{_MEMORY + name: tensor for name, tensor in self._memory.items()},
            **({} if self._behaviour is None else self._behaviour.tensors),
            **self.experience.tensors,
            _CLOCKS: clocks,
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a `state`. Raises SnapshotError, which names what does not fit."""
        self.copy_from(state)
        if self._returns is not None:
            self._returns.load(state, own=True)
        for name, tensor in self.experience.tensors.items():
            tensor.copy_(state[name])
        if self._behaviour is not None:
            self._behaviour.load(state)
        self.version, self.frames, self.skipped, self._skips_in_a_row = (
            int(n) for n in state[_CLOCKS]
        )

    def copy_from(self, state: Mapping[str, Tensor]) -> None:
        """Take another member's weights (`pbt.learning.weight_copy`); the clocks stay its own."""
        check_shapes(self.tensors(), state, f"state for the learner of {self.member}")
        copy_weights(self.model, self._optimizer, self._returns, state)
        for name, tensor in self._memory.items():
            tensor.copy_(state[_MEMORY + name])
        self._skips_in_a_row = 0
