"""How the output of a network becomes actions: a rule that a model has.

An algorithm names the rule (`pbt.algorithms.registry`). `Sampled` is that of policies.
"""

from abc import abstractmethod
from typing import ClassVar, NamedTuple, Protocol

from torch import Tensor, nn

from pbt.models.distributions import greedy as most_likely
from pbt.models.distributions import joint_log_prob, log_probabilities, sample


class Acting(Protocol):
    """The model that acts, as far as a rule knows it."""

    @property
    def head_sizes(self) -> tuple[int, ...]: ...


class Outputs(NamedTuple):
    """What a network says for N agents.

    actions  [N, A], the logits of all alternatives, masked
    values   [N], of the value head
    mask     [N, A] bool
    """

    actions: Tensor
    values: Tensor
    mask: Tensor


class Chosen(NamedTuple):
    """Actions for N agents.

    actions  [N, heads] int64
    columns  what is kept with them for the learner, by name: [N, ...] float32
    """

    actions: Tensor
    columns: dict[str, Tensor]


class ActingRule(nn.Module):
    """Chooses actions. Numbers that it acts by are buffers, which go where the weights go.

    noise  uniform numbers that it takes besides those of the action; they stay the same for a seat
           during a game
    """

    noise: ClassVar[int] = 0

    @abstractmethod
    def choose(self, model: Acting, outputs: Outputs, uniforms: Tensor) -> Chosen:
        """Choose with chance.

        uniforms  [N, heads + noise] float64 in [0, 1), the only randomness
        """

    @abstractmethod
    def best(self, model: Acting, outputs: Outputs) -> Chosen:
        """Choose without chance."""


class Sampled(ActingRule):
    """Draws actions from a policy. See ActingRule."""

    def choose(self, model: Acting, outputs: Outputs, uniforms: Tensor) -> Chosen:
        log_probs = log_probabilities(outputs.actions, model.head_sizes)
        return self._kept(model, outputs, log_probs, sample(log_probs, uniforms, model.head_sizes))

    def best(self, model: Acting, outputs: Outputs) -> Chosen:
        log_probs = log_probabilities(outputs.actions, model.head_sizes)
        return self._kept(model, outputs, log_probs, most_likely(log_probs, model.head_sizes))

    def _kept(self, model: Acting, outputs: Outputs, log_probs: Tensor, actions: Tensor) -> Chosen:
        log_prob = joint_log_prob(log_probs, actions, model.head_sizes)
        return Chosen(actions, {"log_prob": log_prob, "value": outputs.values})
