"""The parts of the actor-critic loss, each as a SUM over the valid steps.

Sums of several shards add up, and one division by the number of steps gives the mean. Rows that are
not valid may hold anything, even nan. They are replaced before any product, since nan times zero is
nan.
"""

from typing import NamedTuple

import torch
from torch import Tensor


def ppo_clip_loss(log_rhos: Tensor, advantages: Tensor, valid: Tensor, ratio_clip: float) -> Tensor:
    """The clipped surrogate of PPO (Schulman et al. 2017, equation 7); returns the sum, a scalar.

    The ratio of the whole action is clipped to [1 / ratio_clip, ratio_clip].

    log_rhos    [T, B] log(pi/mu), with gradient
    advantages  [T, B], without importance weight
    valid       [T, B] bool
    """
    ratios = torch.where(valid, log_rhos, 0.0).exp()
    fixed = torch.where(valid, advantages, 0.0)
    return -torch.minimum(ratios * fixed, ratios.clamp(1.0 / ratio_clip, ratio_clip) * fixed).sum()


def policy_gradient_loss(log_probs: Tensor, advantages: Tensor, valid: Tensor) -> Tensor:
    """The plain policy gradient; returns the sum.

    log_probs   [T, B] of the whole action, with gradient
    advantages  [T, B], with importance weight
    valid       [T, B] bool
    """
    return -(torch.where(valid, log_probs, 0.0) * torch.where(valid, advantages, 0.0)).sum()


def value_loss(values: Tensor, targets: Tensor, valid: Tensor) -> Tensor:
    """The squared error, without a factor 1/2; returns the sum.

    values   [T, B], with gradient
    targets  [T, B]
    valid    [T, B] bool
    """
    return torch.where(valid, targets - values, 0.0).square().sum()


def clipped_value_loss(
    values: Tensor, targets: Tensor, acted: Tensor, valid: Tensor, clip: float
) -> Tensor:
    """`value_loss` that gives no reward for moving far; returns the sum.

        max((V - target)^2, (V' - target)^2)  with V' = acted + clamp(V - acted, -clip, clip)

    As in the code of PPO (openai/baselines, ppo2) and Sample Factory. A value that has moved by
    more than `clip` towards its target has no gradient.

    values   [T, B], with gradient
    targets  [T, B]
    acted    [T, B], what the policy that acted predicted, in the unit of `values`
    valid    [T, B] bool
    """
    fixed = torch.where(valid, acted, 0.0)
    near = fixed + (torch.where(valid, values, 0.0) - fixed).clamp(-clip, clip)
    errors = torch.where(valid, targets - values, 0.0).square()
    return torch.maximum(errors, torch.where(valid, targets - near, 0.0).square()).sum()


def entropy_sum(entropies: Tensor, valid: Tensor) -> Tensor:
    """The sum of the entropies, [T, B] in nats."""
    return torch.where(valid, entropies, 0.0).sum()


class Moments(NamedTuple):
    """Mean and standard deviation of the valid entries of all shards."""

    mean: Tensor
    deviation: Tensor


def moment_sums(values: Tensor, valid: Tensor) -> Tensor:
    """Count, sum and sum of squares of the valid entries, [3] float64; those of shards add up."""
    kept = torch.where(valid, values, 0.0).to(torch.float64)
    return torch.stack([valid.sum().to(torch.float64), kept.sum(), kept.square().sum()])


def moments(sums: Tensor) -> Moments:
    """Population mean and deviation from `moment_sums`; both 0 where no entry was valid."""
    count = sums[0].clamp(min=1.0)
    mean = sums[1] / count
    return Moments(mean, (sums[2] / count - mean.square()).clamp(min=0.0).sqrt())


def normalized(values: Tensor, by: Moments, epsilon: float = 1e-5) -> Tensor:
    """(values - mean) / (deviation + epsilon), in the dtype of `values`."""
    return (values - by.mean.to(values.dtype)) / (by.deviation + epsilon).to(values.dtype)
