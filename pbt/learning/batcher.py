"""The queue of full slots in front of a learner, and the copying of slots into batches.

`pbt/runtime/pipeline.py` takes slots from the queue, and the process of the learner gathers them.
"""

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pbt.algorithms.batch import Batch
from pbt.errors import EngineError
from pbt.saved import SavedQueue
from pbt.transport.messages import RolloutPermit, SlotFull
from pbt.transport.slab import OBSERVATION_PREFIX, Slab, flat_rows
from pbt.transport.staging import Form

# Columns of the slab that only identify rows, or belong to acting.
NOT_TRAINED_ON = ("origin", "policy", "live_state")


class Batcher:
    """The queue of one learner. It owns FULL slots until they are taken or refused.

    dropped  rows that were refused or given back untrained, by reason
    """

    def __init__(self, slab: Slab, role: int, batch_slots: int) -> None:
        self._slab, self._role, self._batch_slots = slab, role, batch_slots
        self._queue: deque[SlotFull] = deque()
        self.dropped: Counter[str] = Counter()

    @property
    def waiting(self) -> tuple[int, ...]:
        """Numbers of the FULL slots, oldest first."""
        return tuple(full.slot for full in self._queue)

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, full: SlotFull, generation: int, refuse: str = "") -> list[RolloutPermit]:
        """Queue a slot, or refuse it and count its rows as dropped; returns its slot release then.

        A slot of another generation than `generation`, the policy's present one, is refused.
        refuse: a reason to refuse it anyway, "" for none.
        """
        if full.generation != generation or refuse:
            return self._refuse([full], refuse or "generation")
        self._queue.append(full)
        return []

    def take(self) -> list[SlotFull] | None:
        """The slots of the next batch, the first ones, or None while there are too few.

        The caller owns them until it releases or requeues them.
        """
        if len(self._queue) < self._batch_slots:
            return None
        return [self._queue.popleft() for _ in range(self._batch_slots)]

    def take_all(self) -> list[SlotFull]:
        """All slots of the queue; the caller owns them until it releases or requeues them."""
        queue, self._queue = self._queue, deque()
        return list(queue)

    def requeue(self, fulls: Sequence[SlotFull]) -> None:
        """Put slots from `take` that were not trained on back to the front, in their order."""
        self._queue.extendleft(reversed(fulls))

    def permits(self, fulls: Sequence[SlotFull]) -> list[RolloutPermit]:
        """Slot releases, which give these slots back to their workers."""
        return [RolloutPermit(self._role, full.slot) for full in fulls]

    def rows_waiting(self) -> int:
        """Number of valid rows in the queue."""
        return self.rows(self._queue)

    def rows(self, fulls: Collection[SlotFull]) -> int:
        """Number of valid rows in these slots."""
        return int(
            self._slab.column["valid"][np.array([full.slot for full in fulls], np.int64)].sum()
        )

    def discard(self, reason: str) -> list[RolloutPermit]:
        """Drop all slots of the queue; returns their slot releases."""
        queue, self._queue = self._queue, deque()
        return self._refuse(queue, reason)

    def drop_stale(self, version: int, max_lag: int) -> list[RolloutPermit]:
        """Drop slots with a row that was acted more than `max_lag` versions ago.

        version: the learner's present one. Returns the slot releases.
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

    def state(self) -> SavedQueue:
        return SavedQueue(list(self._queue), dict(self.dropped))

    def load(self, state: SavedQueue) -> None:
        self._queue, self.dropped = deque(state.queue), Counter(state.dropped)


def gather(slab: Slab, slots: NDArray[np.int64]) -> Batch:
    """Copy slots into a batch on the CPU.

    A slot has T rows of steps, and a row T with the observation after the last of them. Where an
    episode ended there, row T was never written, and harmless values take its place, as in all rows
    that neither are steps nor follow one.
    """
    arrays = {
        name: np.empty(form.shape, form.dtype)
        for name, form in batch_forms(slab, len(slots)).items()
    }
    gather_into(arrays, slab, slots)
    return Batch.of({name: torch.from_numpy(array) for name, array in arrays.items()})


def batch_forms(slab: Slab, slots: int) -> dict[str, Form]:
    """Shapes and dtypes of the arrays of a batch of `slots` slots, by column."""
    columns = (column for column in slab.table if column.name not in NOT_TRAINED_ON)
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
    """Copy slots into the arrays of `batch_forms`.

    Raises EngineError for a slot that the slab does not have.
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
        # One pass over memory, in the order of the batch. mode="raise" would make numpy copy
        # through a buffer; "clip" does not, and a slot that does not exist is refused above.
        np.take(flat_rows(column), places[column.shape[1]], axis=0, out=array, mode="clip")
    # Slots that were handed over before they were full, in a rhythm of rollouts, have more of them.
    unread = np.ones(arrays["episode_start"].shape, np.bool_)
    unread[:-1] = ~arrays["valid"]
    unread[1:] &= ~arrays["valid"] | arrays["terminated"]
    for name, array in arrays.items():
        if name.startswith(OBSERVATION_PREFIX):
            array[unread] = 0
    arrays["mask"][unread] = True
    arrays["episode_start"][unread] = True
