"""What a learner trains on: [T, B] tensors of one policy, time first."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from pbt.transport.slab import OBSERVATION_PREFIX

# The one tensor without a time axis.
_INITIAL_STATE = "initial_state"


@dataclass(frozen=True)
class Batch:
    """T steps of B slots; observations and episode starts have the bootstrap row T as well.

    observations     leaf name -> [T+1, B, *shape], the leaf's dtype; where row T was never written
                     (row T-1 terminated) it is zero
    mask             [T+1, B, A] bool, the mask that was in force when acting; all True where there
                     is none
    episode_start    [T+1, B] bool; the recurrent state is cleared before such a row
    valid            [T, B] bool; False rows carry only a final observation: no loss, no frames
    rewards          [T, B, K] float32, unweighted terms (the learner applies the member's shaping
                     weights)
    terminated, truncated  [T, B] bool
    tics             [T, B] int32
    actions          [T, B, heads] int64
    log_prob         [T, B] float32, joint over heads, of the behaviour policy
    value            [T, B] float32, of the behaviour policy
    version          [T, B] int32, learner version that acted
    initial_state    [B, H] float32
    """

    observations: dict[str, Tensor]
    mask: Tensor
    episode_start: Tensor
    valid: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    tics: Tensor
    actions: Tensor
    log_prob: Tensor
    value: Tensor
    version: Tensor
    initial_state: Tensor

    @property
    def slots(self) -> int:
        return self.valid.shape[1]

    @property
    def frames(self) -> int:
        """Engine ticks covered by the valid steps."""
        return int(torch.where(self.valid, self.tics, 0).sum())

    def select(self, slots: Tensor) -> "Batch":
        """The sub-batch of these slots ([b] int64)."""
        tensors = {
            name: tensor[:, slots]
            for name, tensor in self.tensors().items()
            if name != _INITIAL_STATE
        }
        return Batch.of(tensors | {_INITIAL_STATE: self.initial_state[slots]})

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device. Batches out of a slab are gathered for their device at
        once, by `BatchGatherer`.
        """
        return Batch.of({name: tensor.to(device) for name, tensor in self.tensors().items()})

    def tensors(self) -> dict[str, Tensor]:
        """Every tensor under the name of its slab column."""
        leaves = {OBSERVATION_PREFIX + name: leaf for name, leaf in self.observations.items()}
        return leaves | {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "observations"
        }

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "Batch":
        """From `tensors()`."""
        observations = {
            name.removeprefix(OBSERVATION_PREFIX): leaf
            for name, leaf in tensors.items()
            if name.startswith(OBSERVATION_PREFIX)
        }
        return cls(
            observations,
            **{
                field.name: tensors[field.name]
                for field in fields(cls)
                if field.name != "observations"
            },
        )
