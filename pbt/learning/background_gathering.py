"""Gathering copies full slots into batches on the learner's device, beside the learner's work."""

import queue
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import torch

from pbt.algorithms.batch import Batch
from pbt.errors import EngineError
from pbt.learning.batcher import batch_forms, gather, gather_into
from pbt.learning.lanes import gather_lanes, gather_lanes_into, lane_forms, lanes_of
from pbt.transport.slab import Slab
from pbt.transport.staging import CPU, staging_for


class _Work(NamedTuple):
    member: str
    role: int
    slots: tuple[int, ...]
    lanes: bool
    most: int | None


class _Gathered(NamedTuple):
    """A batch that was gathered.

    batch    the batch, or the error that prevented it
    arrived  on CUDA, the event of the complete copy to the device
    """

    batch: Batch | Exception
    arrived: torch.cuda.Event | None


class BatchGatherer:
    """Copies slots into batches, in the order of the calls of `gather`.

    On CUDA the copy to the device runs beside the learner's stream.

    slabs  by role
    """

    def __init__(
        self,
        slabs: Sequence[Slab],
        device: torch.device = CPU,
        *,
        background: bool = True,
        on_gathered: Callable[[str], None] = lambda member: None,
    ) -> None:
        """slabs: by role.

        device       where the batches are needed
        background   copy in a thread of its own instead of within `gather`
        on_gathered  called with the member as soon as its slots may be filled again, by the thread
                     that copies
        """
        self.slabs, self._device, self._on_gathered = tuple(slabs), device, on_gathered
        self._staging = staging_for(device)
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._ready: defaultdict[str, deque[_Gathered]] = defaultdict(deque)
        self._asked: defaultdict[str, int] = defaultdict(int)
        self._changed = threading.Condition()
        self._thread = (
            threading.Thread(target=self._copy_all, name="gatherer", daemon=True)
            if background
            else None
        )
        if self._thread is not None:
            self._thread.start()

    def gather(
        self,
        member: str,
        role: int,
        slots: Sequence[int],
        *,
        lanes: bool = False,
        most: int | None = None,
    ) -> None:
        """Copy these slots of the role into the member's next batch.

        lanes  as `pbt.learning.lanes` packs their rows, else slot by slot
        most   (lanes) see `lanes_of`
        """
        self._asked[member] += 1
        work = _Work(member, role, tuple(slots), lanes, most)
        if self._thread is None:
            self._copy(work)
        else:
            self._work.put(work)

    def take(self, member: str, timeout_s: float = 30.0) -> Batch:
        """The member's oldest batch, on the device, for work on the current stream.

        Waits until the batch is copied. Raises EngineError when no batch of the member is due, when
        it could not be copied, or after `timeout_s`.
        """
        batch, arrived = self._next(member, timeout_s)
        if isinstance(batch, Exception):
            problem = f"{type(batch).__name__}: {batch}"
            raise EngineError(
                f"batch of {member} could not be copied: {problem}; restart the learner"
            ) from batch
        if arrived is not None:
            stream = torch.cuda.current_stream(self._device)
            stream.wait_event(arrived)
            # The batch was made on the copying stream. Its memory must not be used again before
            # this stream is done with it. One tensor stands for all, since they share memory.
            batch.valid.record_stream(stream)
        return batch

    def discard(self, member: str, timeout_s: float = 30.0) -> None:
        """Drop every batch of the member that is due.

        Raises EngineError when one is not copied after `timeout_s`.
        """
        while self._asked[member]:
            self._next(member, timeout_s)

    def _next(self, member: str, timeout_s: float) -> _Gathered:
        if self._asked[member] == 0:
            raise EngineError(
                f"batch of {member}: found no slots to gather; expected them before training; a "
                "bug worth reporting"
            )
        with self._changed:
            ready = self._ready[member]
            if not self._changed.wait_for(lambda: bool(ready), timeout_s):
                raise EngineError(
                    f"batch of {member}: it is not copied after {timeout_s:g} s; expected "
                    "milliseconds; restart the learner"
                )
            self._asked[member] -= 1
            return ready.popleft()

    def close(self) -> None:
        """End the thread, after it has copied all that is due."""
        if self._thread is not None:
            self._work.put(None)
            self._thread.join()

    def _copy_all(self) -> None:
        while (work := self._work.get()) is not None:
            self._copy(work)

    def _copy(self, work: _Work) -> None:
        try:
            gathered = self._gathered(work)
        except Exception as error:  # noqa: BLE001  `take` raises it again
            gathered = _Gathered(error, None)
        # This comes first, so that the slots are released before the batch can be trained on and
        # its update reported.
        self._on_gathered(work.member)
        with self._changed:
            self._ready[work.member].append(gathered)
            self._changed.notify_all()

    def _gathered(self, work: _Work) -> _Gathered:
        slab, slots = self.slabs[work.role], np.array(work.slots, np.int64)
        if self._staging is None:
            batch = gather_lanes(slab, slots, work.most) if work.lanes else gather(slab, slots)
            return _Gathered(batch, None)
        if work.lanes:
            lanes = lanes_of(slab, slots, work.most)
            gather_lanes_into(self._staging.stage(lane_forms(slab, lanes)), slab, lanes)
        else:
            gather_into(self._staging.stage(batch_forms(slab, len(slots))), slab, slots)
        # The copy runs on a stream of its own; the event marks its end.
        with torch.cuda.stream(self._stream) if self._stream is not None else nullcontext():
            batch = Batch.of(self._staging.send())
            return _Gathered(batch, None if self._stream is None else self._stream.record_event())
