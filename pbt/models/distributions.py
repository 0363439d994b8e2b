"""Distributions over actions: choices by categorical heads, and numbers by normal distributions.

A row of logits is [..., A], with A the sum of the head sizes: several heads lie side by side. All
parts of an action are independent given the observation, so probabilities of a whole action
multiply: log-probability and entropy are sums over parts. Everything here is float32 or wider.
`masked_outputs` and `distribution` lead from a network's outputs to a `Distribution`; callers need
to know no more of it.
"""

import math
from collections.abc import Sequence
from typing import Protocol, Self

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from pbt.envs.actions import ActionSpec

# It is finite, so that 0 * log p is 0 and no gradient is nan, and so small that float32 exp
# underflows to exactly 0 next to any legal logit.
MASKED_LOGIT = -1e9
# A legal logit counts as no smaller than this, so that it stays legal beside an illegal one.
LEAST_LOGIT = -1e8
# The inverse of the normal distribution is infinite at 0 and at 1.
_LEAST_UNIFORM, _LARGEST_UNIFORM = 2.0**-54, 1.0 - 2.0**-53
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


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

    def divergence(self, other: Self) -> Tensor:
        """KL(this || other), in nats. other: of the same kind and observations. Returns [...]."""


def masked_outputs(spec: ActionSpec, outputs: Tensor, mask: Tensor) -> Tensor:
    """What a network says of an action, with illegal alternatives pushed away.

    outputs  [..., O]: the logits of all choices, then the means of all numbers
    mask     [..., mask_size] bool, True = legal
    """
    if not spec.numbers:
        return masked_logits(outputs, mask, spec.choices)
    if not spec.choices:
        return outputs
    logits, means = outputs[..., : spec.mask_size], outputs[..., spec.mask_size :]
    return torch.cat([masked_logits(logits, mask, spec.choices), means], -1)


def distribution(
    spec: ActionSpec, outputs: Tensor, log_deviations: Tensor | None = None
) -> Distribution:
    """The distribution that outputs stand for.

    outputs         [..., O], of `masked_outputs`
    log_deviations  [numbers], logarithms of the numbers' standard deviations; None without numbers
    """
    if log_deviations is None:
        return Categoricals(outputs, spec.choices)
    numbers = Gaussians(outputs[..., spec.mask_size :], log_deviations)
    if not spec.choices:
        return numbers
    return Mixed(Categoricals(outputs[..., : spec.mask_size], spec.choices), numbers)


class Mixed:
    """A Distribution of choices and numbers, the choices first."""

    def __init__(self, choices: "Categoricals", numbers: "Gaussians") -> None:
        self._choices, self._numbers, self._count = choices, numbers, choices.heads

    def sample(self, uniforms: Tensor) -> Tensor:
        """See Distribution."""
        choices, numbers = uniforms[..., : self._count], uniforms[..., self._count :]
        return self._joined(self._choices.sample(choices), self._numbers.sample(numbers))

    def mode(self) -> Tensor:
        """See Distribution."""
        return self._joined(self._choices.mode(), self._numbers.mode())

    def _joined(self, choices: Tensor, numbers: Tensor) -> Tensor:
        return torch.cat([choices.to(numbers.dtype), numbers], -1)

    def log_prob(self, actions: Tensor) -> Tensor:
        """See Distribution."""
        choices, numbers = actions[..., : self._count].long(), actions[..., self._count :]
        return self._choices.log_prob(choices) + self._numbers.log_prob(numbers)

    def entropy(self) -> Tensor:
        """See Distribution."""
        return self._choices.entropy() + self._numbers.entropy()

    def divergence(self, other: "Mixed") -> Tensor:
        """See Distribution."""
        numbers = self._numbers.divergence(other._numbers)
        return self._choices.divergence(other._choices) + numbers


class Gaussians:
    """A Distribution of numbers: normal, with deviations that do not depend on what is seen.

    Actions hold what was drawn, also where it lies outside the game's bounds: the spec clips it
    only for the game. So do OpenAI's baselines, Stable-Baselines3 and CleanRL.
    """

    def __init__(self, means: Tensor, log_deviations: Tensor) -> None:
        """means: [..., numbers]; log_deviations: [numbers]."""
        self._means, self._log_deviations = means, log_deviations

    def sample(self, uniforms: Tensor) -> Tensor:
        """See Distribution. The normal distribution is inverted at each uniform."""
        drawn: Tensor = torch.special.ndtri(uniforms.clamp(_LEAST_UNIFORM, _LARGEST_UNIFORM))
        return self._means + self._log_deviations.exp() * drawn.to(self._means.dtype)

    def mode(self) -> Tensor:
        """See Distribution."""
        return self._means

    def log_prob(self, actions: Tensor) -> Tensor:
        """See Distribution."""
        away = (actions - self._means) * (-self._log_deviations).exp()
        return -(0.5 * away.square() + self._log_deviations + _HALF_LOG_TWO_PI).sum(-1)

    def entropy(self) -> Tensor:
        """See Distribution. It is that of a density, so it may be negative."""
        total = (self._log_deviations + 0.5 + _HALF_LOG_TWO_PI).sum()
        return total.expand(self._means.shape[:-1])

    def divergence(self, other: "Gaussians") -> Tensor:
        """See Distribution."""
        wider = other._log_deviations - self._log_deviations
        apart = (self._means - other._means) * (-other._log_deviations).exp()
        return (wider + 0.5 * ((-2.0 * wider).exp() + apart.square() - 1.0)).sum(-1)


class Categoricals:
    """A Distribution of choices.

    log_probs  [..., A], of every alternative
    heads      the number of choices
    """

    def __init__(self, logits: Tensor, head_sizes: Sequence[int]) -> None:
        """logits: [..., A], masked already."""
        self.log_probs, self._sizes = log_probabilities(logits, head_sizes), head_sizes
        self.heads = len(head_sizes)

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

    def divergence(self, other: "Categoricals") -> Tensor:
        """See Distribution."""
        return (self.log_probs.exp() * (self.log_probs - other.log_probs)).sum(-1)


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
