"""The scheduler of learners: full slots become batches, and rounds are decided between updates.

It runs in the main process and tells the processes of the learners what to do. A learner has at
most one batch in training and one gathered ahead. While a decision about its member is due, it is
told to train nothing.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping

from torch import Tensor

from pbt.checkpoint.state import learner_part
from pbt.config.schema import RunConfig
from pbt.learning.attesting import Attestation
from pbt.learning.statistics import UpdateStats
from pbt.population.controller import Controller
from pbt.records import Directive
from pbt.runtime.control import Attest, Copy, Discard, Gather, SetHyperparams, Train
from pbt.runtime.learner_handle import Dispatched, LearnerHandle
from pbt.transport.messages import JsonState, RolloutPermit, SlotFull


class LearnerScheduler:
    """Feeds every learner and puts its rounds in force.

    handles       learner handles by member
    dropped       rows dropped here, by reason
    rows_trained  by all learners
    updates       by all learners
    resting       no new batch is gathered; those that were gathered are trained
    """

    def __init__(
        self,
        config: RunConfig,
        handles: list[LearnerHandle],
        controller: Controller,
        send: Callable[..., None],
        reachable: Callable[[str], bool],
        permit: Callable[[list[RolloutPermit]], None],
    ) -> None:
        """Connect the scheduler.

        send(process, *messages)  sends messages to a process
        reachable(process)        whether a process would hear a message now
        permit(permits)           releases slots to their workers
        """
        self._config, self._controller = config, controller
        self._send, self._reachable, self._permit = send, reachable, permit
        self.handles = {handle.name: handle for handle in handles}
        self._by_policy = {handle.policy: handle for handle in handles}
        self.dropped: Counter[str] = Counter()
        self.rows_trained = 0
        self.updates = 0
        self.resting = False
        # Updates whose rounds are decided only when a copy is in force. Their learners wait.
        self._undecided: deque[tuple[str, UpdateStats]] = deque()

    def load(
        self,
        batchers: Mapping[str, JsonState],
        tensors: Mapping[str, Mapping[str, Tensor]],
        rows_trained: int,
    ) -> None:
        """Take over a checkpoint's waiting slots and learner of every member."""
        self.rows_trained = rows_trained
        for name, handle in self.handles.items():
            saved = tensors[learner_part(name)]
            handle.batcher.load(batchers[name])
            handle.published.publish(saved, int(saved["clocks"][0]))
            handle.refresh()

    # --- what workers and learners say ------------------------------------------------------------

    def slot_full(self, full: SlotFull) -> None:
        handle = self._by_policy[full.policy]
        member = self._controller.members[handle.name]
        self._permit(handle.batcher.add(full, member.generation, refuse=member.refused))

    def gathered(self, process: str, name: str) -> None:
        """Note that a member's shard in a process has copied its slots of its oldest such batch.

        When all shards have copied theirs, the slots of the batch go back to their workers.
        """
        handle = self.handles[name]
        batch = next(batch for batch in handle.batches if process in batch.to_gather)
        batch.to_gather.remove(process)
        if not batch.to_gather:
            self._permit(handle.batcher.permits(batch.fulls))
            if batch.discarded:
                handle.batches.remove(batch)

    def updated(self, name: str, stats: UpdateStats) -> None:
        """Note that a shard finished an update; when all have, the controller decides on it."""
        handle = self.handles[name]
        batch = handle.batches[0]
        batch.to_train -= 1
        if batch.to_train:
            return
        handle.batches.popleft()
        self.rows_trained += stats.rows
        self.updates += 1
        handle.refresh()
        self._undecided.append((name, stats))
        self._decide()

    def _decide(self) -> None:
        """Show the controller the updates, and put its decisions in force one by one.

        A round must find the one before it in force, so all wait while a copy is on its way.
        """
        while self._undecided and all(handle.copying is None for handle in self.handles.values()):
            name, stats = self._undecided.popleft()
            directive = self._controller.on_update(name, stats)
            if directive is not None:
                self._apply(self.handles[name], directive)
            self._ask(self.handles[name])
            if refused := self._controller.members[name].refused:
                self.abandon(self.handles[name], refused)

    def _ask(self, handle: LearnerHandle) -> None:
        """Have the learner attest what a certificate needs, after all that it was told before."""
        publications = self._controller.certifier.asked(handle.name)
        if publications is not None:
            self._send(handle.hosts[0], Attest(handle.name, publications))

    def attested(self, name: str, attestation: Attestation) -> None:
        """Take what a learner attests; it trains no further before the controller has seen it."""
        self._controller.attested(name, attestation, self.handles[name].published)

    def copied(self, name: str) -> None:
        """Note that a shard took the donor's weights; when all have, a new generation begins."""
        handle = self.handles[name]
        handle.to_copy -= 1
        if handle.to_copy == 0 and handle.copying is not None:
            directive, handle.copying = handle.copying, None
            self._controller.applied(directive)
            self._permit(handle.batcher.discard("generation"))
            self._decide()

    def member_error(self, name: str, text: str) -> None:
        """Note that an update raised and the learner went back to what it published last.

        Its batches are dropped. The member fails when this happens too often in a row.
        """
        handle = self.handles[name]
        self._drop(handle, "error")
        self._send_to(handle, Discard(name))
        if handle.errors.died(handle.frames) is None and not self._controller.members[name].failed:
            self.fail(name, text)

    def fail(self, name: str, text: str) -> None:
        """Train the member no more; it sits as a frozen opponent. text: why."""
        self._controller.fail(name, text)
        self.handles[name].copying = None
        self.abandon(self.handles[name], "failed")
        self._decide()

    # --- giving learners their work ---------------------------------------------------------------

    def dispatch(self) -> None:
        """Have each learner gather its next batch while it trains the one before it."""
        waiting = {name for name, _ in self._undecided}
        for handle in self.handles.values():
            if (
                handle.copying is not None
                or handle.name in waiting
                or not all(self._reachable(host) for host in handle.hosts)
            ):
                continue
            if len(handle.batches) < 2 and not self.resting:
                self._gather(handle)
            oldest = handle.batches[0] if handle.batches else None
            if oldest is not None and not oldest.training and not oldest.discarded:
                oldest.training, oldest.publications = True, handle.published.publications
                self._send_to(handle, Train(handle.name))

    def _gather(self, handle: LearnerHandle) -> None:
        if self._config.learning.max_lag is not None:
            # The batch is trained after those in front of it, each of which adds one version.
            self._permit(
                handle.batcher.drop_stale(
                    handle.version + len(handle.batches), self._config.learning.max_lag
                )
            )
        fulls = handle.batcher.take()
        if fulls is None:
            return
        shards = len(handle.hosts)
        handle.batches.append(
            Dispatched(fulls, handle.batcher.rows(fulls), set(handle.hosts), shards)
        )
        for shard, host in enumerate(handle.hosts):
            self._send(host, Gather(handle.name, tuple(full.slot for full in fulls[shard::shards])))

    def behind(self) -> bool:
        """Whether a learner has enough batches waiting that workers should hold."""
        batch_slots = self._config.learning.batch_steps // self._config.sampling.rollout_steps
        limit = self._config.runtime.waiting_batches * batch_slots
        return any(len(handle.batcher.waiting) >= limit for handle in self.handles.values())

    @property
    def idle(self) -> bool:
        """Whether no batch, no decision and no copy is on its way."""
        return not self._undecided and not any(
            handle.batches or handle.copying is not None for handle in self.handles.values()
        )

    def frames_at(self, processes: Collection[str]) -> int:
        """Frames trained so far by all members whose learners these processes host."""
        return sum(
            handle.frames
            for handle in self.handles.values()
            if not set(handle.hosts).isdisjoint(processes)
        )

    def rows_at_learners(self) -> int:
        """Rows of the batches that are on their way through learners."""
        return sum(
            batch.rows
            for handle in self.handles.values()
            for batch in handle.batches
            if not batch.discarded
        )

    # --- copies, ends, deaths ---------------------------------------------------------------------

    def _apply(self, handle: LearnerHandle, directive: Directive) -> None:
        """Put a round's directive in force.

        A copy is in force when every shard has said so. No row of the replaced weights is trained
        after it.
        """
        if directive.copy_snapshot is None:
            self._controller.applied(directive)
            self._send_to(handle, SetHyperparams(handle.name, dict(directive.hyperparams)))
            return
        handle.copying = directive
        self._drop(handle, "generation")
        self._send_copy(handle)

    def _send_copy(self, handle: LearnerHandle) -> None:
        directive = handle.copying
        assert directive is not None and directive.copy_snapshot is not None
        handle.to_copy = len(handle.hosts)
        hyperparams = SetHyperparams(handle.name, dict(directive.hyperparams))
        self._send_to(
            handle, Discard(handle.name), hyperparams, Copy(handle.name, directive.copy_snapshot)
        )

    def abandon(self, handle: LearnerHandle, reason: str) -> None:
        """Drop everything that waits to be trained on."""
        self._drop(handle, reason)
        self._send_to(handle, Discard(handle.name))
        self._permit(handle.batcher.discard(reason))

    def _drop(self, handle: LearnerHandle, reason: str) -> None:
        """Count a learner's batches as dropped; slots are released when they were gathered."""
        for batch in list(handle.batches):
            if not batch.discarded:
                self.dropped[reason] += batch.rows
                batch.discarded = True
            if not batch.to_gather:
                handle.batches.remove(batch)

    def hosts_died(self, hosts: set[str]) -> None:
        """Take back the batches of learners whose process died.

        The learners start again from what they published. Batches whose slots are still full wait
        again, the others are lost.
        """
        for handle in self.handles.values():
            if not hosts & set(handle.hosts):
                continue
            handle.refresh()
            self._controller.certifier.lost(handle.name, handle.version)
            for batch in reversed(handle.batches):
                if batch.discarded:
                    pass  # its rows were counted when it was dropped
                elif batch.training and handle.published.publications > batch.publications:
                    # The batch was trained and published, and only the message was lost. The
                    # version would not tell, since it stays when every step was skipped.
                    self.rows_trained += batch.rows
                elif batch.to_gather and batch.fulls:
                    handle.batcher.requeue(batch.fulls)
                    continue
                else:
                    self.dropped["restart"] += batch.rows
                if batch.to_gather:
                    self._permit(handle.batcher.permits(batch.fulls))
            handle.batches.clear()

    def hosts_started(self, hosts: set[str]) -> None:
        """Ask again for copies that were not in force when these processes died."""
        for handle in self.handles.values():
            if hosts & set(handle.hosts) and handle.copying is not None:
                self._send_copy(handle)

    def slots_died(self) -> None:
        """Drop what waits in full slots: the sampling plane starts again with all slots free.

        A batch that is being gathered is trained nevertheless; its slots are not released again.
        """
        for handle in self.handles.values():
            handle.batcher.discard("restart")
            for batch in handle.batches:
                batch.fulls = []

    @property
    def gathering(self) -> bool:
        """Whether a learner still reads slots."""
        return any(batch.to_gather for handle in self.handles.values() for batch in handle.batches)

    def _send_to(self, handle: LearnerHandle, *messages: object) -> None:
        for host in handle.hosts:
            self._send(host, *messages)
