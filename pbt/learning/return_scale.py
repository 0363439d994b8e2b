"""The size of a member's returns, by which its value targets are divided.

A value head learns numbers around 1 well, whatever a game pays. Without the division, returns of
100 make the value loss ten thousand times as large as that of the policy, and the gradient that
both share is the value's alone.
"""

import math

import torch
from torch import Tensor

from pbt.algorithms.base import Reducer
from pbt.algorithms.losses import moment_sums
from pbt.algorithms.vtrace import gae
from pbt.models.policy_model import PolicyModel


class ReturnScale:
    """The root mean square of all value targets so far, in the unit of the weighted rewards.

    It is 1 until a reward is not 0. When it changes, the value head is divided by the change, so
    that what it predicts stays the same in rewards (van Hasselt et al. 2016, "Learning values
    across many orders of magnitude", with a mean of 0).

    sums  [2] float64: number of targets, and sum of their squares; part of the learner's state
    """

    def __init__(self, device: torch.device) -> None:
        self.sums = torch.zeros(2, dtype=torch.float64, device=device)
        self.scale = 1.0

    @property
    def known(self) -> bool:
        """Whether a reward was not 0 yet."""
        return bool(self.sums[1] > 0.0)

    def begin(
        self, rewards: Tensor, discounts: Tensor, valid: Tensor, lam: float, reducer: Reducer
    ) -> None:
        """Set the scale by a batch that is to be trained on, unless it is known.

        The values of a network that has learned nothing are left out, so targets are sums of the
        rewards of a slot.

        rewards    [T, B], weighted, 0 where not valid
        discounts  [T, B], 0 where not valid or terminated
        valid      [T, B] bool
        """
        if self.known:
            return
        nothing = torch.zeros_like(rewards)
        returns = gae(discounts, rewards, nothing, nothing[0], lam=lam).vs
        count, _, squares = reducer.sum(moment_sums(returns, valid)).tolist()
        if squares > 0.0:
            self._set(count, squares)

    def follow(self, count: float, squares: float, model: PolicyModel) -> None:
        """Take in the targets of an update, and keep what the value head predicts.

        count    number of targets, over all shards and passes
        squares  sum of their squares, each target divided by the present scale
        """
        if not self.known or count == 0.0:
            return
        before, sums = self.scale, self.sums.tolist()
        self._set(sums[0] + count, sums[1] + squares * before**2)
        with torch.no_grad():
            model.heads.weight[-1] *= before / self.scale
            model.heads.bias[-1] *= before / self.scale

    def load(self, sums: Tensor) -> None:
        """Go on from the `sums` of a learner's state."""
        self.sums.copy_(sums)
        self._measure()

    def _set(self, count: float, squares: float) -> None:
        self.sums.copy_(torch.tensor((count, squares), dtype=torch.float64))
        self._measure()

    def _measure(self) -> None:
        count, squares = self.sums.tolist()
        self.scale = math.sqrt(squares / count) if squares > 0.0 else 1.0
