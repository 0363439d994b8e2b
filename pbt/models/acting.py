"""How the output of a network becomes actions: a rule that a model has.

An algorithm names the rule (`pbt.algorithms.registry`). `Sampled` is that of policies.
"""

from abc import abstractmethod
from typing import ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from pbt.models.distributions import Distribution


class Acting(Protocol):
    """The model that acts, as far as a rule knows it."""

    def distribution(self, outputs: Tensor) -> Distribution:
        """The distribution of actions by what the network says of them. outputs: [..., O]."""


class Outputs(NamedTuple):
    """What a network says for N agents.

    actions  [N, O], of `masked_outputs`
    values   [N], of the value head
    mask     [N, mask_size] bool
    """

    actions: Tensor
    values: Tensor
    mask: Tensor


class Chosen(NamedTuple):
    """Actions for N agents.

    actions  [N, W], of the spec's type
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

        uniforms  [N, W + noise] float64 in [0, 1), the only randomness
        """

    @abstractmethod
    def best(self, model: Acting, outputs: Outputs) -> Chosen:
        """Choose without chance."""

    @abstractmethod
    def chances(self, outputs: Outputs) -> Tensor:
        """The probability with which `choose` takes each action, [..., A] float64.

        For actions of one choice. outputs: of any leading axes.
        """


class Sampled(ActingRule):
    """Draws actions from a policy. See ActingRule."""

    def choose(self, model: Acting, outputs: Outputs, uniforms: Tensor) -> Chosen:
        chance = model.distribution(outputs.actions)
        return self._kept(chance, chance.sample(uniforms), outputs)

    def best(self, model: Acting, outputs: Outputs) -> Chosen:
        chance = model.distribution(outputs.actions)
        return self._kept(chance, chance.mode(), outputs)

    def chances(self, outputs: Outputs) -> Tensor:
        """See ActingRule."""
        return torch.softmax(outputs.actions.double(), -1)

    def _kept(self, chance: Distribution, actions: Tensor, outputs: Outputs) -> Chosen:
        return Chosen(actions, {"log_prob": chance.log_prob(actions), "value": outputs.values})
