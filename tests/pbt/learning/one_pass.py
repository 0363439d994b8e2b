"""The plainest update, for tests that follow single steps."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from pbt.algorithms.appo import Appo
from pbt.algorithms.batch import Batch
from pbt.config.learning import LearningConfig
from pbt.hyperparams import Hyperparams
from pbt.learning.learner import Learner
from pbt.learning.reducer import SingleReducer
from pbt.learning.statistics import UpdateStats


def one_pass(**changes: Any) -> LearningConfig:
    """One pass over a batch as a whole, returns as they are; with changes."""
    plain = {"epochs": 1, "minibatches": 1, "learning_rate": 1e-3, "normalize_returns": False}
    return LearningConfig(**(plain | changes))


def hyperparams_of(
    shaping: Mapping[str, float],
    learning_rate: float = 1e-3,
    entropy_coef: float = 0.0,
    adam_beta1: float = 0.9,
) -> Hyperparams:
    """Hyperparameters, with weights of reward terms."""
    values = {"learning_rate": learning_rate, "entropy_coef": entropy_coef}
    return Hyperparams({**values, "adam_beta1": adam_beta1}, shaping)


def numbers_of(stats: UpdateStats) -> dict[str, float]:
    """All numbers of an update by name, those that its algorithm tells among them."""
    told = vars(stats).items()
    own = {name: value for name, value in told if name not in ("means", "round_lag")}
    return {**own, **stats.means}


def with_log_probs_less(batch: Batch, difference: float) -> Batch:
    """The batch as if its actions had been less likely, by this much in nats."""
    log_prob = batch.acted["log_prob"] - difference
    return replace(batch, acted={**batch.acted, "log_prob": log_prob})


def targets_on_policy(learner: Learner, batch: Batch, values: Tensor) -> Tensor:
    """The value targets of a batch whose policy has not changed. values: [T+1, B]."""
    algorithm, on_policy = learner.algorithm, torch.zeros_like(values[:-1])
    assert isinstance(algorithm, Appo)
    return algorithm.targets(learner.loss_inputs(batch, SingleReducer()), on_policy, values).vs


def equal_states(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)
