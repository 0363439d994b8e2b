"""What a learner trains on: each batch as it comes, or steps drawn from a replay."""

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.algorithms.base import Algorithm, ReplayRules
from pbt.algorithms.batch import Batch, minibatches
from pbt.config.learning import LearningConfig
from pbt.errors import EngineError
from pbt.learning.batcher import NOT_TRAINED_ON
from pbt.transport.slab import Slab

Draw = Callable[[int], np.random.Generator]
"""Number -> the generator of what is drawn under it."""


class Experience(Protocol):
    """Makes the parts of a member's updates, each of which gives one step of the optimiser.

    tensors  what stands of it in the learner's state, not copied
    slab     where it keeps steps, None where it keeps none
    """

    @property
    def tensors(self) -> dict[str, Tensor]: ...

    @property
    def slab(self) -> Slab | None: ...

    def parts(self, batch: Batch, draw: Draw) -> Iterator[Batch]:
        """The parts of the update for a new batch."""


class OnPolicy:
    """Every batch is trained on once it has come, in shuffled parts, and forgotten."""

    tensors: dict[str, Tensor] = {}
    slab = None

    def __init__(self, parts: int, epochs: int) -> None:
        """Cut each batch into `parts`, in each of `epochs` passes."""
        self._parts, self._epochs = parts, epochs

    def parts(self, batch: Batch, draw: Draw) -> Iterator[Batch]:
        """See Experience. A batch of fewer slots than parts has a part for each."""
        return minibatches(batch, min(self._parts, batch.slots), self._epochs, draw)


class UniformReplay:
    """Keeps the newest steps, and draws batches of them, each step as likely as another.

    The slots of a batch are copied into a slab of its own, a ring: so each step has the one behind
    it at hand. The slab outlives the learner where it is shared memory, and a checkpoint holds it.

    slab   the ring; None: no step can be added
    added  [1] int64, slots that were put into it since the start
    """

    def __init__(
        self, member: str, slab: Slab | None, rules: ReplayRules, device: torch.device
    ) -> None:
        """Draw from `slab` by `rules`, onto `device`. member: for errors."""
        self.slab, self._rules = slab, rules
        self._member, self._device = member, device
        self.added = torch.zeros(1, dtype=torch.int64)

    @property
    def tensors(self) -> dict[str, Tensor]:
        """See Experience."""
        return {"replay.added": self.added}

    def parts(self, batch: Batch, draw: Draw) -> Iterator[Batch]:
        """See Experience. The batch is added first."""
        steps, slab = batch.valid.numel(), self.add(batch)
        places = np.flatnonzero(slab.column["valid"])
        if len(places) >= self._rules.least_rows:
            chance, rows = draw(0), self._rules.batch_rows
            for _ in range(max(1, round(steps * self._rules.intensity / rows))):
                yield self._drawn(slab, places[chance.integers(len(places), size=rows)])

    def add(self, batch: Batch) -> Slab:
        """Put a batch into the places of the oldest slots; returns the ring.

        Raises: EngineError where there is no room for it.
        """
        slots = 0 if self.slab is None else self.slab.slots
        if self.slab is None or slots < batch.slots:
            raise EngineError(
                f"learner of {self._member}: a replay of {slots} slots for batches of "
                f"{batch.slots}; raise dqn.replay_rows"
            )
        # `added` is published with the weights. A learner that dies before that begins again from
        # what it published, so its next batch takes these places, whatever was written there.
        places = (int(self.added) + np.arange(batch.slots)) % slots
        for name, tensor in batch.tensors().items():
            array = tensor.cpu().numpy()
            column = self.slab.column[name]
            column[places] = array if name == "initial_state" else array.swapaxes(0, 1)
        self.added += batch.slots
        return self.slab

    def _drawn(self, slab: Slab, places: NDArray[np.int64]) -> Batch:
        """The steps at these places, as slots of one row. places: [B], slot * T + row."""
        slots, rows = np.divmod(places, slab.layout.rollout_steps)
        tensors = {}
        for column in slab.table:
            if column.name in NOT_TRAINED_ON:
                continue
            array = slab.column[column.name]
            if column.rows == "slot":
                tensors[column.name] = torch.from_numpy(array[slots])
            elif column.rows == "T":
                tensors[column.name] = torch.from_numpy(array[slots, rows][None])
            else:
                both = np.stack([array[slots, rows], array[slots, rows + 1]])
                tensors[column.name] = torch.from_numpy(both)
        return Batch.of(tensors).to(self._device)


def new_experience(
    algorithm: Algorithm,
    config: LearningConfig,
    member: str,
    replay: Slab | None,
    device: torch.device,
) -> Experience:
    """The experience of a member's learner. replay: the ring of an algorithm that replays."""
    if algorithm.replay is None:
        return OnPolicy(config.minibatches, config.epochs)
    return UniformReplay(member, replay, algorithm.replay, device)
