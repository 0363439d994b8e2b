"""One member's way from full slots to updates, in batches."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pbt.learning.batcher import Batcher
from pbt.processes.restarts import RestartPolicy
from pbt.records import Directive
from pbt.runtime import control
from pbt.runtime.learner_handle import LearnerHandle
from pbt.transport.messages import RolloutPermit, SlotFull


@dataclass(eq=False)
class Dispatched:
    """A batch on its way through a learner.

    fulls         its full slots
    rows          valid rows in them
    gathered      its slots were copied, and given back
    publications  of the learner when it was told to train on the batch, None before; a greater
                  number later shows that it has trained
    discarded     its rows are counted as dropped
    """

    fulls: list[SlotFull]
    rows: int
    gathered: bool = False
    publications: int | None = None
    discarded: bool = False


@dataclass(eq=False)
class Pipeline:
    """A member's learner, the queue before it, and the batches between the two.

    batcher  the queue of full slots
    errors   how many updates in a row may raise before the member fails
    permit   releases a slot to its worker
    dropped  rows of batches that were dropped on their way, by reason; shared by all members
    batches  on their way through the learner, oldest first
    copying  a directive whose copy is not in force yet
    """

    handle: LearnerHandle
    batcher: Batcher
    errors: RestartPolicy
    permit: Callable[[RolloutPermit], None]
    dropped: Counter[str]
    batches: deque[Dispatched] = field(default_factory=deque)
    copying: Directive | None = None

    @property
    def name(self) -> str:
        return self.handle.name

    def train(self, order: control.Train) -> bool:
        """Have the oldest batch trained. Returns False when there is none to begin with."""
        oldest = self.batches[0] if self.batches else None
        if oldest is None or oldest.publications is not None or oldest.discarded:
            return False
        oldest.publications = self.handle.published.publications
        self.handle.tell(order)
        return True

    def train_round(self, order: control.Train) -> None:
        """Have all full slots trained, as one batch of the rows of a rollout."""
        fulls = self.batcher.take_all()
        rows = self.batcher.rows(fulls)
        if not rows:
            self.release(self.batcher.permits(fulls))
            return
        self.batches.append(Dispatched(fulls, rows))
        slots = tuple(full.slot for full in fulls)
        self.handle.tell(control.Gather(self.name, slots, lanes=True))
        self.train(order)

    def gather(self, max_lag: int | None) -> bool:
        """Have the next batch gathered, one ahead of that in training.

        max_lag: slots with older rows are dropped first. Returns False when there are enough
        batches, or too few slots.
        """
        if len(self.batches) >= 2:
            return False
        if max_lag is not None:
            # The batch is trained after those in front of it, each of which adds one version.
            version = self.handle.version + len(self.batches)
            self.release(self.batcher.drop_stale(version, max_lag))
        fulls = self.batcher.take()
        if fulls is None:
            return False
        self.batches.append(Dispatched(fulls, self.batcher.rows(fulls)))
        self.handle.tell(control.Gather(self.name, tuple(full.slot for full in fulls)))
        return True

    def copy(self) -> None:
        """Have the learner copy what `copying` names, and forget what it has gathered."""
        assert self.copying is not None and self.copying.copy_snapshot is not None
        self.handle.tell(control.Discard(self.name))
        self.handle.tell(control.SetHyperparams(self.name, dict(self.copying.hyperparams)))
        self.handle.tell(control.Copy(self.name, self.copying.copy_snapshot))

    def gathered(self) -> None:
        """Release the slots of the oldest batch that was being gathered."""
        batch = next(batch for batch in self.batches if not batch.gathered)
        batch.gathered = True
        self.release(self.batcher.permits(batch.fulls))
        if batch.discarded:
            self.batches.remove(batch)

    def drop(self, reason: str) -> None:
        """Count the batches as dropped. Their slots are released when they were gathered."""
        for batch in list(self.batches):
            if not batch.discarded:
                self.dropped[reason] += batch.rows
                batch.discarded = True
            if batch.gathered:
                self.batches.remove(batch)

    def discard(self, reason: str) -> None:
        """Drop everything that waits to be trained on."""
        self.drop(reason)
        self.handle.tell(control.Discard(self.name))
        self.release(self.batcher.discard(reason))

    def take_back(self) -> int:
        """Take back the batches of a learner that died; returns how many of their rows it trained.

        It starts again from what it published. Batches whose slots are still full wait again, the
        others are lost.
        """
        trained, published = 0, self.handle.published.publications
        for batch in reversed(self.batches):
            if batch.discarded:
                pass  # its rows were counted when it was dropped
            elif batch.publications is not None and published > batch.publications:
                # The batch was trained and published, and only the message was lost. The version
                # would not tell, since it stays when every step was skipped.
                trained += batch.rows
            elif not batch.gathered and batch.fulls:
                self.batcher.requeue(batch.fulls)
                continue
            else:
                self.dropped["restart"] += batch.rows
            if not batch.gathered:
                self.release(self.batcher.permits(batch.fulls))
        self.batches.clear()
        return trained

    def release(self, permits: Sequence[RolloutPermit]) -> None:
        """Give slots back to their workers."""
        for permit in permits:
            self.permit(permit)
