"""Full slots of one role -> batches of one policy. Refuses rows whose generation is over."""

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pbt.errors import EngineError
from pbt.learning.batch import Batch
from pbt.transport.messages import JsonState, RolloutPermit, SlotFull
from pbt.transport.slab import OBSERVATION_PREFIX, Slab
from pbt.transport.staging import Form

# Columns of the slab that say whose rows these are, or belong to acting.
_NOT_TRAINED_ON = ("origin", "policy", "live_state")


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
        """Queue a slot; one of an old generation, or with a reason to `refuse` it, goes straight
        back and its rows are counted.
        """
        if full.generation != generation or refuse:
            return self._refuse([full], refuse or "generation")
        self._queue.append(full)
        return []

    def take(self) -> list[SlotFull] | None:
        """The slots of the next batch, oldest first, or None while there are too few. They are
        the caller's until permitted or requeued.
        """
        if len(self._queue) < self._batch_slots:
            return None
        return [self._queue.popleft() for _ in range(self._batch_slots)]

    def requeue(self, fulls: Sequence[SlotFull]) -> None:
        """Put slots of `take` that were not trained on back in front, in their order."""
        self._queue.extendleft(reversed(fulls))

    def permits(self, fulls: Sequence[SlotFull]) -> list[RolloutPermit]:
        """What gives these slots back to their workers."""
        return [RolloutPermit(self._role, full.slot, full.generation, 0) for full in fulls]

    def rows_waiting(self) -> int:
        """Valid rows of the queue."""
        return self.rows(self._queue)

    def rows(self, fulls: Collection[SlotFull]) -> int:
        """Valid rows of these slots."""
        return int(
            self._slab.column["valid"][np.array([full.slot for full in fulls], np.int64)].sum()
        )

    def discard(self, reason: str) -> list[RolloutPermit]:
        """Give every waiting slot back untrained."""
        queue, self._queue = self._queue, deque()
        return self._refuse(queue, reason)

    def drop_stale(self, version: int, max_lag: int) -> list[RolloutPermit]:
        """Give back waiting slots whose oldest valid row was acted more than max_lag versions
        before `version`, the learner's.
        """
        if not self._queue:
            return []
        slots = list(self.waiting)
        column = self._slab.column
        oldest = column["version"][slots].min(axis=1, where=column["valid"][slots], initial=version)
        stale = [
            full
            for full, acted in zip(self._queue, oldest, strict=True)
            if version - acted > max_lag
        ]
        self._queue = deque(
            full
            for full, acted in zip(self._queue, oldest, strict=True)
            if version - acted <= max_lag
        )
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
    """Copy slots into a time-major batch on the CPU. Poison is replaced where nothing may be
    read: row T behind an ended episode.
    """
    arrays = {
        name: np.empty(form.shape, form.dtype)
        for name, form in batch_forms(slab, len(slots)).items()
    }
    gather_into(arrays, slab, slots)
    return Batch.of({name: torch.from_numpy(array) for name, array in arrays.items()})


def batch_forms(slab: Slab, slots: int) -> dict[str, Form]:
    """The arrays of a batch of so many slots, by column: time first."""
    columns = (column for column in slab.table if column.name not in _NOT_TRAINED_ON)
    rows = {
        column.name: () if column.rows == "slot" else (slab.column[column.name].shape[1],)
        for column in columns
    }
    return {
        name: Form(
            (*lead, slots, *slab.column[name].shape[1 + len(lead) :]), slab.column[name].dtype
        )
        for name, lead in rows.items()
    }


def gather_into(arrays: Mapping[str, NDArray[Any]], slab: Slab, slots: NDArray[np.int64]) -> None:
    """Fill the arrays of `batch_forms`. Raises EngineError for a slot that the slab does not
    have.
    """
    if len(slots) and not 0 <= slots.min() <= slots.max() < slab.slots:
        raise EngineError(
            f"batch of slots {slots.min()} to {slots.max()}: the slab has {slab.slots}; a "
            "bug worth reporting"
        )
    steps = slab.layout.rollout_steps
    places = {rows: slots * rows + np.arange(rows)[:, None] for rows in (steps, steps + 1)}
    for name, array in arrays.items():
        column = slab.column[name]
        if name == "initial_state":
            array[...] = column[slots]
            continue
        # One pass over memory, in the order of the batch. "clip" spares numpy the buffer it needs
        # to take back a failed "raise"; a slot that does not exist is refused above.
        np.take(
            column.reshape(-1, *column.shape[2:]),
            places[column.shape[1]],
            axis=0,
            out=array,
            mode="clip",
        )
    unread = ~arrays["valid"][-1] | arrays["terminated"][-1]
    for name, array in arrays.items():
        if name.startswith(OBSERVATION_PREFIX):
            array[-1, unread] = 0
    arrays["mask"][-1, unread] = True
    arrays["episode_start"][-1, unread] = True
