"""Statistics of an update: sums that add up over minibatches and shards, and means of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import torch
from torch import Tensor

from pbt.algorithms.base import Loss
from pbt.algorithms.batch import Batch
from pbt.transport.slab import ROUND


@dataclass(frozen=True)
class UpdateStats:
    """Statistics of one update on one batch.

    version        learner version after the update
    frames         tics of the valid steps of the batch, counted once for all epochs
    rows           number of valid steps of the batch, counted once for all epochs
    grad_norm      mean over the optimiser steps, before clipping
    lag_mean       mean policy lag of the valid rows when trained on, in learner versions
    lag_median     the policy lag that half of the rows do not exceed, of this shard's rows only
    lag_p95        the same of 95 % of the rows
    lag_max        the largest policy lag, of this shard's rows only
    round_lag      (least, most) learning phases that were over since the rows were acted, where
                   there are rounds
    skipped_steps  optimiser steps that were skipped because loss or gradient was not finite
    taken_steps    optimiser steps that were taken
    means          what the algorithm tells (`Algorithm.means`), over the valid steps of all
                   minibatches and epochs that were not skipped, 0 if all were skipped
    """

    version: int
    frames: int
    rows: int
    grad_norm: float
    lag_mean: float
    lag_median: int
    lag_p95: int
    lag_max: int
    skipped_steps: int
    taken_steps: int
    means: dict[str, float]
    round_lag: tuple[int, int] | None = None


class LagSums(NamedTuple):
    """Policy lag of one shard's part of a batch.

    vector   [3] float64: frames, rows, sum of lags
    median, p95, largest
             lags that half, 95 % and all of the rows do not exceed
    rounds   see `UpdateStats.round_lag`
    """

    vector: Tensor
    median: int
    p95: int
    largest: int
    rounds: tuple[int, int] | None = None


def lag_sums(batch: Batch, version: int, round: int | None = None) -> LagSums:
    """Frames, rows and policy lag of a batch at learner version `version` in a round."""
    lags = (version - batch.version.to(torch.int64))[batch.valid].sort().values
    # All numbers leave the device in one copy.
    tics = torch.where(batch.valid, batch.tics, 0).sum()
    frames, *ordered = torch.cat([tics[None], lags]).tolist()
    rows = len(ordered)
    vector = torch.tensor([frames, rows, sum(ordered)], dtype=torch.float64)
    half, most, all_ = (ordered[ceil(rows * part) - 1] if rows else 0 for part in (0.5, 0.95, 1.0))
    rounds = None
    if round is not None and ROUND in batch.acted and rows:
        acted = batch.acted[ROUND][batch.valid]
        rounds = round - int(acted.max()), round - int(acted.min())
    return LagSums(vector, half, most, all_, rounds)


class StepSums:
    """Sums over the valid steps of gradient computations.

    vector  [3 + the algorithm's] float64: steps, targets and their squares, then `Algorithm.sums`
    """

    def __init__(self, names: Sequence[str]) -> None:
        """names: the algorithm's sums."""
        self.names = ("steps", "target", "target_squares", *names)
        self.vector = torch.zeros(len(self.names), dtype=torch.float64)

    def of(self, loss: Loss, valid: Tensor) -> Tensor:
        """The sums of one gradient computation, like `vector`. valid: [T, B] bool."""
        targets = torch.where(valid, loss.targets, 0.0)
        sums = (loss.sums[name] for name in self.names[3:])
        parts = (valid.sum(), targets.sum(), targets.square().sum(), *sums)
        return torch.stack([part.detach().to(torch.float64) for part in parts]).cpu()

    def named(self, facts: Tensor) -> dict[str, float]:
        """The sums by name, from the `facts` of `update_stats`."""
        return dict(zip(self.names, facts[3:].tolist(), strict=True))


def update_stats(
    facts: Tensor,
    means: dict[str, float],
    norms: Sequence[float],
    lags: LagSums,
    *,
    version: int,
    skipped_steps: int,
) -> UpdateStats:
    """The statistics, from sums over all shards. facts: float64, of LagSums, then of StepSums."""
    frames, rows, lag = facts[:3].tolist()
    return UpdateStats(
        version=version,
        frames=int(frames),
        rows=int(rows),
        grad_norm=sum(norms) / max(len(norms), 1),
        lag_mean=lag / max(rows, 1.0),
        lag_median=lags.median,
        lag_p95=lags.p95,
        lag_max=lags.largest,
        skipped_steps=skipped_steps,
        taken_steps=len(norms),
        means=means,
        round_lag=lags.rounds,
    )
