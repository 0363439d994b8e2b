"""Statistics of an update: sums that add up over minibatches and shards, and means of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor

from pbt.learning.batch import Batch


@dataclass(frozen=True)
class UpdateStats:
    """Statistics of one update on one batch.

    Means are over the valid steps of all minibatches and epochs that were not skipped, 0 if all
    were skipped.

    version             learner version after the update
    frames              tics of the valid steps of the batch, counted once for all epochs
    rows                number of valid steps of the batch, counted once for all epochs
    policy_loss         mean
    value_loss          mean squared error of the values, whether or not the loss is clipped
    entropy             mean, in nats
    value               mean value estimate
    kl                  mean estimate of KL(mu || pi), in nats
    clip_fraction       share of steps with a ratio outside the clip
    explained_variance  1 - Var(target - value) / Var(target), 0 where the targets do not vary
    grad_norm           mean over the optimiser steps, before clipping
    lag_mean            mean policy lag of the valid rows when trained on, in learner versions
    lag_max             the largest policy lag, of this shard's rows only
    skipped_steps       optimiser steps that were skipped because loss or gradient was not finite
    taken_steps         optimiser steps that were taken
    """

    version: int
    frames: int
    rows: int
    policy_loss: float
    value_loss: float
    entropy: float
    value: float
    kl: float
    clip_fraction: float
    explained_variance: float
    grad_norm: float
    lag_mean: float
    lag_max: int
    skipped_steps: int
    taken_steps: int = 0


class LagSums(NamedTuple):
    """Policy lag of one shard's part of a batch.

    vector   [3] float64: frames, rows, sum of lags
    largest  the largest lag
    """

    vector: Tensor
    largest: int


def lag_sums(batch: Batch, version: int) -> LagSums:
    """Frames, rows and policy lag of a batch at learner version `version`."""
    lags = torch.where(batch.valid, version - batch.version.to(torch.int64), 0)
    # All four numbers leave the device in one copy.
    frames, rows, lag, largest = torch.stack(
        [torch.where(batch.valid, batch.tics, 0).sum(), batch.valid.sum(), lags.sum(), lags.max()]
    ).tolist()
    return LagSums(torch.tensor([frames, rows, lag], dtype=torch.float64), largest)


@dataclass(frozen=True)
class StepSums:
    """Sums over the valid steps of gradient computations.

    vector  [10] float64, in the order of `of`
    """

    vector: Tensor

    @classmethod
    def zeros(cls) -> Self:
        return cls(torch.zeros(10, dtype=torch.float64))

    def __add__(self, other: "StepSums") -> "StepSums":
        return StepSums(self.vector + other.vector)

    @classmethod
    @torch.no_grad()
    def of(
        cls,
        policy: Tensor,
        value: Tensor,
        entropy: Tensor,
        log_rhos: Tensor,
        vs: Tensor,
        values: Tensor,
        valid: Tensor,
        ratio_clip: float,
    ) -> Self:
        """The sums of one gradient computation.

        policy      scalar, the sum of the policy loss
        value       scalar, the sum of the squared errors of the values
        entropy     scalar, the sum of the entropies
        log_rhos    [T, B], 0 where not valid
        vs          [T, B], value targets
        values      [T, B]
        valid       [T, B] bool
        ratio_clip  see `losses.ppo_clip_loss`
        """
        targets, errors = torch.where(valid, vs, 0.0), torch.where(valid, vs - values, 0.0)
        ratios = log_rhos.exp()
        outside = (ratios > ratio_clip) | (ratios < 1.0 / ratio_clip)
        parts = (
            valid.sum(),
            policy,
            value,
            entropy,
            torch.where(valid, values, 0.0).sum(),
            (ratios - 1.0 - log_rhos).sum(),
            outside.sum(),
            targets.sum(),
            targets.square().sum(),
            errors.sum(),
        )
        return cls(torch.stack([part.to(torch.float64) for part in parts]).cpu())


def target_sums(facts: Tensor) -> tuple[float, float]:
    """(number, sum of squares) of the value targets, from the `facts` of `update_stats`."""
    return float(facts[3]), float(facts[11])


def update_stats(
    facts: Tensor, norms: Sequence[float], lag_max: int, *, version: int, skipped_steps: int
) -> UpdateStats:
    """The statistics, from sums over all shards. facts: [13] float64, LagSums then StepSums."""
    (
        frames,
        rows,
        lag,
        count,
        policy,
        value,
        entropy,
        values,
        kl,
        clipped,
        target,
        target_squares,
        error,
    ) = facts.tolist()
    steps = max(count, 1.0)
    target_variance = target_squares / steps - (target / steps) ** 2
    error_variance = value / steps - (error / steps) ** 2
    explained = 1.0 - error_variance / max(target_variance, 1e-12)
    return UpdateStats(
        version=version,
        frames=int(frames),
        rows=int(rows),
        policy_loss=policy / steps,
        value_loss=value / steps,
        entropy=entropy / steps,
        value=values / steps,
        kl=kl / steps,
        clip_fraction=clipped / steps,
        explained_variance=explained if target_variance > 1e-12 else 0.0,
        grad_norm=sum(norms) / max(len(norms), 1),
        lag_mean=lag / max(rows, 1.0),
        lag_max=lag_max,
        skipped_steps=skipped_steps,
        taken_steps=len(norms),
    )
