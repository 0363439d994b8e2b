"""The scheduler of learners: full slots become batches, and rounds are decided between updates.

It is the same in every placement and rhythm. It gives work to handles
(`pbt/runtime/learner_handle.py`) and hears their answers, which come within the call from a learner
in this process, and later from one in another. While a decision about its member is due, a learner
is told to train nothing.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from pbt.config.schema import RunConfig
from pbt.learning.batcher import Batcher
from pbt.learning.statistics import UpdateStats
from pbt.population.controller import Controller
from pbt.processes.restarts import RestartPolicy
from pbt.records import Directive
from pbt.runtime import control
from pbt.runtime.learner_handle import LearnerHandle
from pbt.runtime.pacing import new_pacing
from pbt.runtime.pipeline import Dispatched, Pipeline
from pbt.transport.messages import RolloutPermit, SlotFull
from pbt.transport.slab import Slab


class LearnerScheduler:
    """Feeds every learner and puts its rounds in force.

    controller    decides on every update
    pacing        says when learners are given batches
    pipelines     by member, in the members' order
    dropped       rows of batches that were dropped on their way through learners, by reason
    rows_trained  by all learners
    updates       by all learners
    resting       no new batch is gathered; those that were gathered are trained
    round         learning phases that are over, where the pacing has rounds
    restored      full slots of another rhythm are trained before the first rollout
    """

    def __init__(
        self,
        config: RunConfig,
        handles: Iterable[LearnerHandle],
        slabs: Sequence[Slab],
        controller: Controller,
        permit: Callable[[RolloutPermit], None],
    ) -> None:
        """Connect the scheduler.

        slabs           by role
        permit(permit)  releases a slot to its worker
        """
        self._config, self.controller = config, controller
        self.pacing = new_pacing(config)
        self._batch_slots = config.learning.batch_steps // config.sampling.rollout_steps
        self.dropped: Counter[str] = Counter()
        self.pipelines = {
            handle.name: Pipeline(
                handle,
                Batcher(slabs[handle.role], handle.role, self._batch_slots),
                RestartPolicy(config.runtime.max_restarts),
                permit,
                self.dropped,
            )
            for handle in handles
        }
        self._by_policy = {line.handle.policy: line for line in self.pipelines.values()}
        self.rows_trained = self.updates = self.round = 0
        self.resting = self.restored = False
        # Updates whose rounds are decided only when a copy is in force. Their learners wait.
        self._undecided: deque[tuple[str, UpdateStats]] = deque()
        # In a round: members whose batch is trained and not published, and updates that were.
        self._trained: set[str] = set()
        self._updated: dict[str, UpdateStats] = {}
        self._phase = False

    # --- giving learners their work ---------------------------------------------------------------

    def slot_full(self, full: SlotFull) -> None:
        """Take a slot that a worker has filled."""
        line = self._by_policy[full.policy]
        member = self.controller.members[line.name]
        line.release(line.batcher.add(full, member.generation, member.refused))

    def dispatch(self) -> None:
        """Give every learner work, one after the other, until it can take no more.

        A learner in another process gathers its next batch while it trains the one before it.
        In rounds this is the barrier: what came of the learning before is put in force, and where
        learning and playing do not overlap, the next batches are given.
        """
        if self.pacing.in_rounds:
            if self.pacing.between_rollouts:
                self._settle()
                if (self.restored or not self.pacing.overlaps) and not self.resting:
                    self.learn_round(publish=True)
                    self._settle()
            return
        max_lag = self._config.learning.max_lag
        for line in self.pipelines.values():
            while self._may_work(line) and (
                line.train(control.Train(line.name)) or (not self.resting and line.gather(max_lag))
            ):
                pass

    def learn_round(self, *, publish: bool) -> None:
        """Have the learners train the rows of the last rollout, unless one is still at work.

        publish: at once, not only when the next rollout is over
        """
        if self.idle:
            self.restored &= bool(self._lines_to_train)
            # Where learning overlaps, there is a phase for each rollout but the first.
            self._phase = bool(self._lines_to_train) or (not publish and self.round > 0)
            for line in self._lines_to_train:
                if line.handle.reachable:
                    line.train_round(control.Train(line.name, self.round, publish))

    def _settle(self) -> None:
        """Put in force what came of a learning phase, in the members' order.

        Nothing is published or decided before all learners have trained.
        """
        lines = self.pipelines.values()
        if any(line.batches and line.name not in self._trained for line in lines):
            return
        trained, self._trained = self._trained, set()
        for line in lines:
            if line.name in trained:
                line.handle.tell(control.Publish(line.name))
        if self._phase and not any(line.batches for line in lines):
            updated, self._updated, self._phase = self._updated, {}, False
            self.round += 1
            self._undecided += [(name, updated[name]) for name in self.pipelines if name in updated]
            self._decide()

    def _may_work(self, line: Pipeline) -> bool:
        decided = not any(name == line.name for name, _ in self._undecided)
        return decided and line.copying is None and line.handle.reachable

    # --- what came of it --------------------------------------------------------------------------

    def hear(self, answer: control.LearnerAnswer) -> None:
        """Take what a learner says."""
        line = self.pipelines[answer.member]
        match answer:
            case control.Gathered():
                line.gathered()
            case control.Trained():
                self._trained.add(line.name)
            case control.Updated():
                line.batches.popleft()
                self.rows_trained += answer.stats.rows
                self.updates += 1
                if self.pacing.in_rounds:
                    self._updated[line.name] = answer.stats
                else:
                    self._undecided.append((line.name, answer.stats))
                    self._decide()
            case control.Attested():
                member, published = self.controller.members[line.name], line.handle.published
                self.controller.certifier.attested(member, answer.attestation, published)
            case control.Copied():
                self._copied(line)
            case control.MemberError():
                self._raised(line, answer.text)

    def _decide(self) -> None:
        """Show the controller the updates, and put its decisions in force one by one.

        A round must find the one before it in force, so all wait while a copy is on its way.
        """
        while self._undecided and all(line.copying is None for line in self.pipelines.values()):
            name, stats = self._undecided.popleft()
            line = self.pipelines[name]
            directive = self.controller.on_update(name, stats)
            if directive is not None:
                self._apply(line, directive)
            # What a certificate needs is attested after all that the learner was told before.
            publications = self.controller.certifier.asked(name)
            if publications is not None:
                line.handle.tell(control.Attest(name, publications))
            if refused := self.controller.members[name].refused:
                line.discard(refused)

    def _apply(self, line: Pipeline, directive: Directive) -> None:
        """Put a round's directive in force. A copy is in force when the learner has answered."""
        if directive.copy_snapshot is None:
            self.controller.applied(directive)
            line.handle.tell(control.SetHyperparams(line.name, dict(directive.hyperparams)))
            return
        line.copying = directive
        line.drop("generation")
        line.copy()

    def _copied(self, line: Pipeline) -> None:
        """Begin a new generation; no row of the replaced weights is trained in it."""
        if line.copying is None:
            return
        directive, line.copying = line.copying, None
        self.controller.applied(directive)
        line.release(line.batcher.discard("generation"))
        self._decide()

    def _raised(self, line: Pipeline, text: str) -> None:
        """Drop the batches of a learner whose update raised.

        The member fails when this happens too often in a row.
        """
        line.drop("error")
        line.handle.tell(control.Discard(line.name))
        failed = self.controller.members[line.name].failed
        if line.errors.died(line.handle.frames) is None and not failed:
            self.fail(line.name, text)

    # --- ends and deaths --------------------------------------------------------------------------

    def fail(self, name: str, text: str) -> None:
        """Train the member no more; it sits as a frozen opponent. text: why."""
        self.controller.fail(name, text)
        line = self.pipelines[name]
        line.copying = None
        line.discard("failed")
        self._decide()

    def died(self, name: str) -> None:
        """Take back the batches of a learner whose process died."""
        line = self.pipelines[name]
        self.controller.certifier.lost(name, line.handle.version)
        self.rows_trained += line.take_back()
        self._trained.discard(name)
        if self.pacing.overlaps:
            # Those of two rollouts would come together.
            line.release(line.batcher.discard("restart"))

    def started(self, name: str) -> None:
        """Ask a learner whose process began again for a copy that was not in force."""
        line = self.pipelines[name]
        if line.copying is not None:
            line.copy()

    def slots_died(self) -> None:
        """Drop what waits in full slots: the sampling plane starts again with all slots free.

        A batch that is being gathered is trained nevertheless; its slots are not released again.
        """
        for line in self.pipelines.values():
            line.batcher.discard("restart")
        for batch in self._batches():
            batch.fulls = []

    # --- where it stands --------------------------------------------------------------------------

    def behind(self) -> bool:
        """Whether a learner has enough batches waiting that workers should hold.

        In rounds they wait for learners anyway.
        """
        if self.pacing.in_rounds:
            return False
        limit = self._config.runtime.waiting_batches * self._batch_slots
        return any(slots >= limit for slots in self.waiting().values())

    @property
    def gathering(self) -> bool:
        """Whether a learner still reads slots."""
        return any(not batch.gathered for batch in self._batches())

    @property
    def idle(self) -> bool:
        """Whether no batch, no decision and no copy is on its way."""
        lines = self.pipelines.values()
        decided = not self._undecided and not self._updated
        return decided and not any(line.batches or line.copying for line in lines)

    @property
    def busy(self) -> bool:
        """Whether a learner has anything to do, now or when it has started again."""
        if not self.idle:
            return True
        if self.pacing.overlaps and not self.restored:
            # What waits is trained during the next rollout.
            return not all(line.handle.reachable for line in self._lines_to_train)
        least = 1 if self.pacing.in_rounds else self._batch_slots
        return any(slots >= least for slots in self.waiting().values())

    @property
    def _lines_to_train(self) -> list[Pipeline]:
        return [line for line in self.pipelines.values() if len(line.batcher)]

    def _batches(self) -> Iterator[Dispatched]:
        return (batch for line in self.pipelines.values() for batch in line.batches)

    def clocks(self) -> dict[str, int]:
        return {name: line.handle.frames for name, line in self.pipelines.items()}

    def waiting(self) -> dict[str, int]:
        """Return how many full slots wait for every member's learner."""
        return {name: len(line.batcher) for name, line in self.pipelines.items()}

    def rows_waiting(self) -> int:
        """Rows of the full slots that wait for their batch."""
        return sum(line.batcher.rows_waiting() for line in self.pipelines.values())

    def rows_at_learners(self) -> int:
        """Rows of the batches that are on their way through learners."""
        return sum(batch.rows for batch in self._batches() if not batch.discarded)

    def rows_dropped(self) -> Counter[str]:
        """Rows that were dropped in queues or on their way through learners, by reason."""
        return sum((line.batcher.dropped for line in self.pipelines.values()), self.dropped)
