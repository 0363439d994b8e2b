"""How the output of a network becomes actions: a rule that a model has.

An algorithm names the rule (`pbt.algorithms.registry`). `Sampled` is that of policies.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from pbt.models.distributions import greedy as most_likely
from pbt.models.distributions import joint_log_prob, log_probabilities, sample


class Chosen(NamedTuple):
    """Actions for N agents.

    actions  [N, heads] int64
    columns  what is kept with them for the learner, by name: [N, ...] float32
    """

    actions: Tensor
    columns: dict[str, Tensor]


class ActingRule(nn.Module):
    """Chooses actions. Numbers that it acts by are buffers, which go where the weights go.

    noise  uniform numbers that it takes besides one for each head; they stay the same for a seat
           during a game
    """

    noise: ClassVar[int] = 0

    @abstractmethod
    def choose(
        self, logits: Tensor, values: Tensor, mask: Tensor, uniforms: Tensor, heads: Sequence[int]
    ) -> Chosen:
        """Choose with chance.

        logits    [N, A], masked
        values    [N], the row of the value head
        mask      [N, A] bool
        uniforms  [N, heads + noise] float64 in [0, 1), the only randomness
        heads     number of choices of every action head
        """

    @abstractmethod
    def best(self, logits: Tensor, values: Tensor, mask: Tensor, heads: Sequence[int]) -> Chosen:
        """Choose without chance, as `choose` otherwise."""


class Sampled(ActingRule):
    """Draws actions from a policy, whose logits the network gives. See ActingRule."""

    def choose(
        self, logits: Tensor, values: Tensor, mask: Tensor, uniforms: Tensor, heads: Sequence[int]
    ) -> Chosen:
        log_probs = log_probabilities(logits, heads)
        return self._kept(log_probs, sample(log_probs, uniforms, heads), values, heads)

    def best(self, logits: Tensor, values: Tensor, mask: Tensor, heads: Sequence[int]) -> Chosen:
        log_probs = log_probabilities(logits, heads)
        return self._kept(log_probs, most_likely(log_probs, heads), values, heads)

    def _kept(
        self, log_probs: Tensor, actions: Tensor, values: Tensor, heads: Sequence[int]
    ) -> Chosen:
        log_prob = joint_log_prob(log_probs, actions, heads)
        return Chosen(actions, {"log_prob": log_prob, "value": values})
