"""A batch is what a learner trains on: [T, B] tensors of one policy, time first."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from pbt.transport.slab import OBSERVATION_PREFIX

# The one tensor without a time axis.
_INITIAL_STATE = "initial_state"


@dataclass(frozen=True)
class Batch:
    """T steps of B slots. Observations, masks and episode starts also have the bootstrap row T.

    observations   leaf name -> [T+1, B, *shape] in the leaf's dtype; zero in a row T that was never
                   written because row T-1 terminated
    mask           [T+1, B, M] bool, the mask in force when acting; all True where there is none
    episode_start  [T+1, B] bool; the recurrent state is cleared before such a row
    valid          [T, B] bool; False for rows that carry only a final observation, which have no
                   loss and no frames
    rewards        [T, B, K] float32, unweighted terms; the learner applies the shaping weights
    terminated     [T, B] bool
    truncated      [T, B] bool
    tics           [T, B] int32, engine ticks that the step took
    actions        [T, B, W], of the spec's type
    version        [T, B] int32, learner version that acted
    initial_state  [B, S] float32, the recurrent state before row 0
    acted          what acting wrote for the algorithm, by column: [T, B, *shape]
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
    version: Tensor
    initial_state: Tensor
    acted: dict[str, Tensor]

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
        """A copy of the batch on a device.

        `BatchGatherer` brings batches of a slab to their device by itself.
        """
        return Batch.of({name: tensor.to(device) for name, tensor in self.tensors().items()})

    def tensors(self) -> dict[str, Tensor]:
        """Every tensor by the name of its slab column."""
        leaves = {OBSERVATION_PREFIX + name: leaf for name, leaf in self.observations.items()}
        return leaves | self.acted | {name: getattr(self, name) for name in _OF_ALL}

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "Batch":
        """The reverse of `tensors`."""
        observations, acted = {}, {}
        for name, tensor in tensors.items():
            if name.startswith(OBSERVATION_PREFIX):
                observations[name.removeprefix(OBSERVATION_PREFIX)] = tensor
            elif name not in _OF_ALL:
                acted[name] = tensor
        of_all = {name: tensors[name] for name in _OF_ALL}
        return cls(observations, **of_all, acted=acted)


# The tensors of every batch, whatever its game and its algorithm.
_OF_ALL = tuple(
    field.name for field in fields(Batch) if field.name not in ("observations", "acted")
)


def rows_of(batch: Batch) -> Batch:
    """The valid rows of a batch without memory, as slots of one row without a row behind it."""
    steps, slots = batch.valid.nonzero(as_tuple=True)
    tensors = {
        name: tensor[steps, slots].unsqueeze(0)
        for name, tensor in batch.tensors().items()
        if name != _INITIAL_STATE
    }
    return Batch.of(tensors | {_INITIAL_STATE: batch.initial_state[slots]})


def minibatches(
    batch: Batch, parts: int, epochs: int, shuffle: Callable[[int], np.random.Generator]
) -> Iterator[Batch]:
    """The parts of every epoch, shuffled by slots.

    parts    1: the batch as it is
    shuffle  epoch -> the generator that its order is drawn from
    """
    for epoch in range(epochs):
        if parts == 1:
            yield batch
            continue
        order = torch.from_numpy(shuffle(epoch).permutation(batch.slots))
        slots = order.to(batch.valid.device)
        yield from (batch.select(part) for part in slots.tensor_split(parts))


def zeroed_observations(batch: Batch) -> dict[str, Tensor]:
    """The batch's observations, with zeros in each row T that was never written.

    Row T is absent where row T-1 terminated, or only carried a final observation. The poison in it
    would reach the weights as 0 * nan.
    The batch itself is changed, since a clone of all images would cost as much as a convolution.
    """
    if len(batch.mask) == len(batch.valid):
        return batch.observations
    absent = ~batch.valid[-1] | batch.terminated[-1]
    for leaf in batch.observations.values():
        last = leaf.detach()[-1]
        last.masked_fill_(absent.view(-1, *[1] * (last.dim() - 1)), 0)
    return batch.observations


def observed_places(valid: Tensor, rows: int | None, turn: int) -> tuple[Tensor, Tensor]:
    """(steps, slots) of the valid rows to add to the observation statistics.

    They are spread over the slots, because rows of one slot follow each other and are alike.

    valid  [T, B] bool
    rows   about how many rows to take, None = all
    turn   a number of the update, so that other rows are taken each time
    """
    slots, steps = valid.t().nonzero(as_tuple=True)
    stride = 1 if rows is None else max(1, len(slots) // rows)
    return steps[turn % stride :: stride], slots[turn % stride :: stride]
