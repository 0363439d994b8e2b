"""Distributions over actions: several categorical heads side by side in one row of logits.

A row of logits is [..., A], with A the sum of the head sizes. The heads are independent given the
observation, so probabilities of a whole action multiply: log-probability and entropy are sums over
heads. Everything here is float32 or wider. `masked_outputs` and `distribution` lead from a
network's outputs to a `Distribution`; callers need to know no more of it.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from pbt.envs.actions import ActionSpec

# It is finite, so that 0 * log p is 0 and no gradient is nan, and so small that float32 exp
# underflows to exactly 0 next to any legal logit.
MASKED_LOGIT = -1e9
# A legal logit counts as no smaller than this, so that it stays legal beside an illegal one.
LEAST_LOGIT = -1e8


class Distribution(Protocol):
    """The distribution of the next action, for each of [...] observations."""

    def sample(self, uniforms: Tensor) -> Tensor:
        """Actions drawn from it, [..., W], of the spec's type.

        uniforms  [..., W] float64 in [0, 1), the only randomness
        """

    def mode(self) -> Tensor:
        """Its most likely actions, [..., W]."""

    def log_prob(self, actions: Tensor) -> Tensor:
        """Log-probabilities of whole actions, [..., W]. Returns [...]."""

    def entropy(self) -> Tensor:
        """In nats. Returns [...]."""


def masked_outputs(spec: ActionSpec, outputs: Tensor, mask: Tensor) -> Tensor:
    """What a network says of an action, [..., A], with illegal alternatives pushed away.

    mask  [..., mask_size] bool, True = legal
    """
    return masked_logits(outputs, mask, spec.choices)


def distribution(spec: ActionSpec, outputs: Tensor) -> Distribution:
    """The distribution that outputs stand for. outputs: [..., A], of `masked_outputs`."""
    return Categoricals(outputs, spec.choices)


class Categoricals:
    """A Distribution of choices. log_probs: [..., A], of every alternative."""

    def __init__(self, logits: Tensor, head_sizes: Sequence[int]) -> None:
        """logits: [..., A], masked already."""
        self.log_probs, self._sizes = log_probabilities(logits, head_sizes), head_sizes

    def sample(self, uniforms: Tensor) -> Tensor:
        """See Distribution."""
        return sample(self.log_probs, uniforms, self._sizes)

    def mode(self) -> Tensor:
        """See Distribution."""
        return greedy(self.log_probs, self._sizes)

    def log_prob(self, actions: Tensor) -> Tensor:
        """See Distribution."""
        return joint_log_prob(self.log_probs, actions, self._sizes)

    def entropy(self) -> Tensor:
        """See Distribution."""
        return joint_entropy(self.log_probs)


def masked_logits(logits: Tensor, mask: Tensor, head_sizes: Sequence[int]) -> Tensor:
    """Logits with illegal actions pushed to MASKED_LOGIT, legal ones above it. Returns [..., A].

    A head without a legal action is treated as if all were legal.

    logits  [..., A] float
    mask    [..., A] bool, True = legal
    """
    if len(head_sizes) == 1:
        legal = mask | ~mask.any(-1, keepdim=True)
    else:
        legal = torch.cat(
            [
                part | ~part.any(-1, keepdim=True)
                for part in torch.split(mask, list(head_sizes), -1)
            ],
            -1,
        )
    return torch.where(legal, logits.clamp(min=LEAST_LOGIT), MASKED_LOGIT)


def log_probabilities(logits: Tensor, head_sizes: Sequence[int]) -> Tensor:
    """Log-softmax within each head. Returns [..., A].

    logits  [..., A], masked already
    """
    if len(head_sizes) == 1:
        return log_softmax(logits, -1)
    return torch.cat(
        [log_softmax(part, -1) for part in torch.split(logits, list(head_sizes), -1)], -1
    )


def joint_log_prob(log_probs: Tensor, actions: Tensor, head_sizes: Sequence[int]) -> Tensor:
    """Log-probability of whole actions. Returns [...].

    log_probs  [..., A] from `log_probabilities`
    actions    [..., heads] int64, an index within each head
    """
    if len(head_sizes) == 1:
        return log_probs.gather(-1, actions).squeeze(-1)
    return log_probs.gather(-1, actions + _offsets(head_sizes, actions.device)).sum(-1)


def joint_entropy(log_probs: Tensor) -> Tensor:
    """Entropy of the whole action in nats, summed over heads. Returns [...].

    Illegal actions add exactly 0.

    log_probs  [..., A]
    """
    return -(log_probs.exp() * log_probs).sum(-1)


def sample(log_probs: Tensor, uniforms: Tensor, head_sizes: Sequence[int]) -> Tensor:
    """Draw actions by inverting each head's cumulative distribution. Returns [..., heads] int64.

    An action of probability 0 is never drawn, also for a uniform of 0 or 1: the first index whose
    cumulative sum exceeds the threshold has a positive probability of its own.

    log_probs  [..., A]
    uniforms   [..., heads] float64 in [0, 1)
    """
    if len(head_sizes) == 1:
        return _invert(log_probs, uniforms)
    parts = zip(
        torch.split(log_probs, list(head_sizes), -1), torch.split(uniforms, 1, -1), strict=True
    )
    return torch.cat([_invert(part, uniform) for part, uniform in parts], -1)


def _invert(log_probs: Tensor, uniform: Tensor) -> Tensor:
    cumulative = log_probs.exp().cumsum(-1, dtype=torch.float64)
    total = cumulative[..., -1:]
    # u * total may round up to the total, which no cumulative sum exceeds.
    threshold = torch.minimum(uniform * total, total * (1.0 - 2.0**-52))
    return (cumulative <= threshold).sum(-1, keepdim=True)


def greedy(log_probs: Tensor, head_sizes: Sequence[int]) -> Tensor:
    """The most likely action of each head, the first among equals. Returns [..., heads] int64.

    log_probs  [..., A]
    """
    return torch.cat(
        [part.argmax(-1, keepdim=True) for part in torch.split(log_probs, list(head_sizes), -1)], -1
    )


def _offsets(head_sizes: Sequence[int], device: torch.device) -> Tensor:
    sizes = torch.tensor(head_sizes, device=device)
    return sizes.cumsum(0) - sizes
