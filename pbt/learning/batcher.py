"""Full slots of one role -> batches of one policy. Refuses rows whose generation is over."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.learning.batch import Batch
from pbt.transport.messages import JsonState, RolloutPermit, SlotFull
from pbt.transport.slab import OBSERVATION_PREFIX, Slab


class Batcher:
    """The queue of one learner: owns FULL slots until they are taken or refused."""

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
            return self._refuse([full], refuse or "generation")
        self._queue.append(full)
        return []

    def take(self) -> list[SlotFull] | None:
        """The slots of the next batch, oldest first, or None while there are too few. They are the caller's until permitted or requeued."""
        if len(self._queue) < self._batch_slots:
            return None
        return [self._queue.popleft() for _ in range(self._batch_slots)]

    def requeue(self, fulls: Sequence[SlotFull]) -> None:
        """Put slots of `take` that were not trained on back in front, in their order."""
        self._queue.extendleft(reversed(fulls))

    def permits(self, fulls: Sequence[SlotFull]) -> list[RolloutPermit]:
        """What gives these slots back to their workers."""
        return [RolloutPermit(self._role, full.slot, full.generation, 0) for full in fulls]

    def rows(self, fulls: Sequence[SlotFull]) -> int:
        """Valid rows of these slots."""
        return int(self._slab.column["valid"][[full.slot for full in fulls]].sum())

    def discard(self, reason: str) -> list[RolloutPermit]:
        """Give every waiting slot back untrained."""
        queue, self._queue = self._queue, deque()
        return self._refuse(queue, reason)

    def drop_stale(self, version: int, max_lag: int) -> list[RolloutPermit]:
        """Give back waiting slots whose oldest valid row was acted more than max_lag optimiser steps before `version`, the learner's."""
        if not self._queue:
            return []
        slots = list(self.waiting)
        column = self._slab.column
        oldest = column["version"][slots].min(axis=1, where=column["valid"][slots], initial=version)
        stale = [full for full, acted in zip(self._queue, oldest, strict=True) if version - acted > max_lag]
        self._queue = deque(full for full, acted in zip(self._queue, oldest, strict=True) if version - acted <= max_lag)
        return self._refuse(stale, "stale")

    def _refuse(self, fulls: Sequence[SlotFull], reason: str) -> list[RolloutPermit]:
        if fulls:
            self.dropped[reason] += self.rows(fulls)
        return self.permits(fulls)

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
