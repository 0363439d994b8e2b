"""The size of a member's returns, by which its value targets are divided.

A value head learns numbers around 1 well, whatever a game pays. Without the division, returns of
100 make the value loss ten thousand times as large as that of the policy, and the gradient that
both share is the value's alone.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from pbt.algorithms.base import Reducer
from pbt.algorithms.losses import moment_sums
from pbt.algorithms.vtrace import gae
from pbt.config.learning import LearningConfig
from pbt.models.policy_model import PolicyModel

# The names of the tensors in a learner's state.
RETURNS, HEADS = "returns.sums", "returns.heads"
# Of this many newest versions it is known how their heads stand. Rows that are older count as acted
# by the oldest of them, since many updates change the scale little: rows of a duel were seen to be
# 29 versions old.
_KEPT_VERSIONS = 64


class ReturnScale:
    """The root mean square of all value targets so far, in the unit of the weighted rewards.

    It is 1 until a reward is not 0. When it changes, the value head is divided by the change, so
    that what it predicts stays the same in rewards (van Hasselt et al. 2016, "Learning values
    across many orders of magnitude", with a mean of 0).

    sums   [2] float64: number of targets, and sum of their squares
    heads  [versions, 2] float64: the newest versions, ascending, and the product of all changes of
           the value head until each; the last is the present one. Kept where values are clipped
    What is kept is part of the learner's state.
    """

    def __init__(self, device: torch.device, *, keeps_heads: bool = False) -> None:
        self.sums = torch.zeros(2, dtype=torch.float64, device=device)
        self.heads = torch.zeros(_KEPT_VERSIONS, 2, dtype=torch.float64, device=device)
        self._keeps_heads = keeps_heads
        self.scale = 1.0
        self._forget_heads()

    @property
    def known(self) -> bool:
        """Whether a reward was not 0 yet."""
        return bool(self.sums[1] > 0.0)

    def begin(
        self,
        rewards: Tensor,
        discounts: Tensor,
        valid: Tensor,
        lam: float,
        reducer: Reducer,
        version: int = 0,
    ) -> None:
        """Set the scale by a batch that is to be trained on, unless it is known.

        The values of a network that has learned nothing are left out, so targets are sums of the
        rewards of a slot.

        rewards    [T, B], weighted, 0 where not valid
        discounts  [T, B], 0 where not valid or terminated
        valid      [T, B] bool
        version    of the weights before the update
        """
        if self._keeps_heads and int(self.heads[-1, 0]) != version:
            self._push(version, 1.0)
        if self.known:
            return
        nothing = torch.zeros_like(rewards)
        returns = gae(discounts, rewards, nothing, nothing[0], lam=lam).vs
        count, _, squares = reducer.sum(moment_sums(returns, valid)).tolist()
        if squares > 0.0:
            self._set(count, squares)

    def follow(self, count: float, squares: float, model: PolicyModel) -> float:
        """Take in the targets of an update, and keep what the value head predicts.

        Returns by what the value head was multiplied.

        count    number of targets, over all shards and passes
        squares  sum of their squares, each target divided by the present scale
        """
        if not self.known or count == 0.0:
            return 1.0
        before, sums = self.scale, self.sums.tolist()
        self._set(sums[0] + count, sums[1] + squares * before**2)
        change = before / self.scale
        if self._keeps_heads:
            self._push(int(self.heads[-1, 0]) + 1, change)
        with torch.no_grad():
            model.heads.weight[-1] *= change
            model.heads.bias[-1] *= change
        return change

    def in_present_unit(self, values: Tensor, versions: Tensor) -> Tensor:
        """What older versions predicted, as the present head says the same.

        values    [T, B], in the unit of the version's own head
        versions  [T, B] int, that acted
        """
        known, changes = self.heads[:, 0].contiguous(), self.heads[-1, 1] / self.heads[:, 1]
        places = torch.searchsorted(known, versions.to(known.dtype), right=True) - 1
        return values * changes[places.clamp(min=0)].to(values.dtype)

    def tensors(self) -> dict[str, Tensor]:
        """What belongs to the learner's state."""
        return {RETURNS: self.sums} | ({HEADS: self.heads} if self._keeps_heads else {})

    def load(self, state: Mapping[str, Tensor], *, own: bool) -> None:
        """Go on from a learner's state.

        own  it is of the same member, whose versions count on
        """
        self.sums.copy_(state[RETURNS])
        self._forget_heads()
        if own and self._keeps_heads:
            self.heads.copy_(state[HEADS])
        self._measure()

    def _forget_heads(self) -> None:
        self.heads[:, 0], self.heads[:, 1] = -1.0, 1.0

    def _push(self, version: int, change: float) -> None:
        newest = self.heads.new_tensor([[version, float(self.heads[-1, 1]) * change]])
        self.heads.copy_(torch.cat([self.heads[1:], newest]))

    def _set(self, count: float, squares: float) -> None:
        self.sums.copy_(torch.tensor((count, squares), dtype=torch.float64))
        self._measure()

    def _measure(self) -> None:
        count, squares = self.sums.tolist()
        self.scale = math.sqrt(squares / count) if squares > 0.0 else 1.0


def new_scale(config: LearningConfig, device: torch.device) -> ReturnScale | None:
    """The scale of a learner's returns, None where the config leaves them as they are."""
    if not config.normalize_returns:
        return None
    # What was predicted in acting is then read in the unit of the present head.
    reads = config.value_clip is not None or config.shuffle == "rows"
    return ReturnScale(device, keeps_heads=reads)
