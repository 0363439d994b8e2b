"""Full slots of one role -> batches of one policy. Refuses rows whose generation is over."""

from collections import Counter, deque
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.learning.batch import Batch
from pbt.transport.messages import JsonState, RolloutPermit, SlotFull
from pbt.transport.slab import OBSERVATION_PREFIX, Slab


class Batcher:
    """The queue of one learner: owns FULL slots until their batch is taken or refused."""

    def __init__(self, slab: Slab, role: int, batch_slots: int) -> None:
        self._slab, self._role, self._batch_slots = slab, role, batch_slots
        self._queue: deque[SlotFull] = deque()
        self.dropped: Counter[str] = Counter()

    @property
    def waiting(self) -> tuple[int, ...]:
        """The FULL slots, oldest first."""
        return tuple(full.slot for full in self._queue)

    def add(self, full: SlotFull, generation: int, refuse: str = "") -> list[RolloutPermit]:
        """Queue a slot; one of an old generation, or with a reason to `refuse` it, goes straight back and its rows are counted."""
        if full.generation != generation or refuse:
            return [self._refuse(full, refuse or "generation")]
        self._queue.append(full)
        return []

    def discard(self, reason: str) -> list[RolloutPermit]:
        """Give every waiting slot back untrained."""
        queue, self._queue = self._queue, deque()
        return [self._refuse(full, reason) for full in queue]

    def take(self) -> tuple[Batch, list[RolloutPermit]] | None:
        """The next batch (copied out of the slab) and the slots it frees, or None while there are too few."""
        if len(self._queue) < self._batch_slots:
            return None
        taken = [self._queue.popleft() for _ in range(self._batch_slots)]
        batch = gather(self._slab, np.array([full.slot for full in taken]))
        return batch, [RolloutPermit(self._role, full.slot, full.generation, 0) for full in taken]

    def _refuse(self, full: SlotFull, reason: str) -> RolloutPermit:
        self.dropped[reason] += int(self._slab.column["valid"][full.slot].sum())
        return RolloutPermit(self._role, full.slot, full.generation, 0)

    def state(self) -> JsonState:
        return {"queue": [list(full) for full in self._queue], "dropped": dict(self.dropped)}

    def load(self, state: JsonState) -> None:
        self._queue = deque(SlotFull(*entry) for entry in state["queue"])
        self.dropped = Counter(state["dropped"])


def gather(slab: Slab, slots: NDArray[np.int64]) -> Batch:
    """Copy slots into a time-major batch. Poison is replaced by zero where nothing may be read: row T behind an ended episode."""
    column = slab.column

    def time_major(name: str) -> Tensor:
        array: NDArray[Any] = column[name][slots]
        return torch.from_numpy(np.ascontiguousarray(array.swapaxes(0, 1)))

    observations = {leaf.name: time_major(OBSERVATION_PREFIX + leaf.name) for leaf in slab.layout.leaves}
    valid, terminated = time_major("valid"), time_major("terminated")
    unread = ~(valid[-1] & ~terminated[-1])
    for leaf in observations.values():
        leaf[-1, unread] = 0
    mask, episode_start = time_major("mask"), time_major("episode_start")
    mask[-1, unread] = True
    episode_start[-1, unread] = True
    return Batch(
        observations=observations,
        mask=mask,
        episode_start=episode_start,
        valid=valid,
        rewards=time_major("rewards"),
        terminated=terminated,
        truncated=time_major("truncated"),
        tics=time_major("tics"),
        actions=time_major("actions"),
        log_prob=time_major("log_prob"),
        value=time_major("value"),
        version=time_major("version"),
        initial_state=torch.from_numpy(column["initial_state"][slots]),
    )
