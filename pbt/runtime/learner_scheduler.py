"""The main process's side of learning: full slots in, batches out to the learners, rounds decided
between their updates.

A member's learner has at most one batch in training and one gathered ahead, so every decision about
it is made while it rests.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from pbt.checkpoint.cut import learner_part
from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.hyperparams import Hyperparams
from pbt.learning.batcher import Batcher
from pbt.learning.statistics import UpdateStats
from pbt.models.weights import MODEL_PREFIX
from pbt.population.controller import Controller
from pbt.processes.restarts import RestartPolicy
from pbt.records import Directive
from pbt.runtime.blueprint import Blueprint
from pbt.runtime.control import Copy, Discard, Gather, SetHyperparams, Train
from pbt.runtime.placements import ProcessPlan
from pbt.runtime.shared import SharedMemory
from pbt.transport.messages import JsonState, RolloutPermit, SlotFull
from pbt.transport.weights import PublishedWeights


@dataclass
class Dispatched:
    """A batch on its way through a learner.

    to_gather  the shards' processes that have not copied their slots yet;  to_train: how many
               shards have not trained yet
    discarded  its rows are counted as dropped;  publications: of the learner when it was told to
               train, more of them show that it has
    """

    fulls: list[SlotFull]
    rows: int
    to_gather: set[str]
    to_train: int
    training: bool = False
    publications: int = 0
    discarded: bool = False


@dataclass
class LearnerHandle:
    """A member's learner as the main process knows it. Fills the port MemberLearner from what the
    learner published, wherever that lives or lived.

    hosts      names of the processes that host it, one per shard, the publishing one first
    batches    oldest first;  copying: a directive whose copy is not in force yet, with the shards
               that have not said Copied
    """

    name: str
    role: int
    policy: int
    hosts: tuple[str, ...]
    batcher: Batcher
    published: PublishedWeights
    errors: RestartPolicy
    batches: deque[Dispatched] = field(default_factory=deque)
    copying: Directive | None = None
    to_copy: int = 0
    version: int = 0
    frames: int = 0

    def state(self) -> dict[str, Tensor]:
        """What it published last; the clocks are read with it."""
        state = self.published.read()
        self.version, self.frames = (int(number) for number in state["clocks"][:2])
        return state

    def weights(self) -> dict[str, Tensor]:
        """Those of its model in what it published last."""
        return {
            name.removeprefix(MODEL_PREFIX): tensor
            for name, tensor in self.state().items()
            if name.startswith(MODEL_PREFIX)
        }

    def refresh(self) -> None:
        """Read the clocks alone."""
        clocks = torch.zeros(4, dtype=torch.int64)
        self.published.copy_into({"clocks": clocks})
        self.version, self.frames = int(clocks[0]), int(clocks[1])

    def copy_from(self, state: Mapping[str, Tensor]) -> None:
        raise EngineError(
            f"the learner of {self.name} lives in another process; it copies when it is sent a Copy"
        )

    def set_hyperparams(self, hyperparams: Hyperparams) -> None:
        raise EngineError(
            f"the learner of {self.name} lives in another process; it is sent SetHyperparams"
        )


def trainees_of(
    blueprint: Blueprint, plans: Sequence[ProcessPlan], shared: SharedMemory
) -> list[LearnerHandle]:
    """One per member, in their order."""
    shards = sorted(
        (shard.member, shard.index, plan.name) for plan in plans for shard in plan.trains
    )
    return [
        LearnerHandle(
            name,
            role,
            policy,
            hosts=tuple(host for member, _, host in shards if member == name),
            batcher=Batcher(shared.slabs[role], role, blueprint.batch_slots),
            published=shared.published[name],
            errors=RestartPolicy(blueprint.config.runtime.max_restarts),
        )
        for name, role, policy in blueprint.members
    ]


class LearnerScheduler:
    """Feeds every learner and puts its rounds in force.

    send(process, *messages), permit(permits): the ways out;  reachable(process): somebody would
    hear it now
    resting  nothing new is gathered; what was is trained
    """

    def __init__(
        self,
        config: RunConfig,
        trainees: list[LearnerHandle],
        controller: Controller,
        send: Callable[..., None],
        reachable: Callable[[str], bool],
        permit: Callable[[list[RolloutPermit]], None],
    ) -> None:
        self._config, self._controller = config, controller
        self._send, self._reachable, self._permit = send, reachable, permit
        self.trainees = {trainee.name: trainee for trainee in trainees}
        self._by_policy = {trainee.policy: trainee for trainee in trainees}
        self.dropped: Counter[str] = Counter()
        self.rows_trained = 0
        self.updates = 0
        self.resting = False
        # Updates that wait for a copy to be in force before their rounds are decided; their
        # learners rest.
        self._undecided: deque[tuple[str, UpdateStats]] = deque()

    def load(
        self,
        batchers: Mapping[str, JsonState],
        tensors: Mapping[str, Mapping[str, Tensor]],
        rows_trained: int,
    ) -> None:
        """Take over what a checkpoint has of every member: what waits for its batch, and its
        learner.
        """
        self.rows_trained = rows_trained
        for name, trainee in self.trainees.items():
            saved = tensors[learner_part(name)]
            trainee.batcher.load(batchers[name])
            trainee.published.publish(saved, int(saved["clocks"][0]))
            trainee.refresh()

    # --- what workers and learners say ------------------------------------------------------------

    def slot_full(self, full: SlotFull) -> None:
        trainee = self._by_policy[full.policy]
        member = self._controller.members[trainee.name]
        self._permit(trainee.batcher.add(full, member.generation, refuse=member.refused))

    def gathered(self, process: str, name: str) -> None:
        """The member's shard in a process copied its slots of one batch more; when all shards
        have, that batch's slots go back to their workers.
        """
        trainee = self.trainees[name]
        batch = next(batch for batch in trainee.batches if process in batch.to_gather)
        batch.to_gather.remove(process)
        if not batch.to_gather:
            self._permit(trainee.batcher.permits(batch.fulls))
            if batch.discarded:
                trainee.batches.remove(batch)

    def updated(self, name: str, stats: UpdateStats) -> None:
        """A shard finished an update; when all have, the controller sees it."""
        trainee = self.trainees[name]
        batch = trainee.batches[0]
        batch.to_train -= 1
        if batch.to_train:
            return
        trainee.batches.popleft()
        self.rows_trained += stats.rows
        self.updates += 1
        trainee.refresh()
        self._undecided.append((name, stats))
        self._decide()

    def _decide(self) -> None:
        """Show the controller what was updated and put in force what it decides: one by one,
        since a round must find the one before it in force.
        """
        while self._undecided and all(
            trainee.copying is None for trainee in self.trainees.values()
        ):
            name, stats = self._undecided.popleft()
            directive = self._controller.on_update(name, stats)
            if directive is not None:
                self._apply(self.trainees[name], directive)
            if refused := self._controller.members[name].refused:
                self.abandon(self.trainees[name], refused)

    def copied(self, name: str) -> None:
        """A shard took the winner's weights; when all have, the member is of its next
        generation.
        """
        trainee = self.trainees[name]
        trainee.to_copy -= 1
        if trainee.to_copy == 0 and trainee.copying is not None:
            directive, trainee.copying = trainee.copying, None
            self._controller.applied(directive)
            self._permit(trainee.batcher.discard("generation"))
            self._decide()

    def member_error(self, name: str, text: str) -> None:
        """An update raised. The learner went back to what it published last; too often in a row,
        and the member fails.
        """
        trainee = self.trainees[name]
        for batch in list(trainee.batches):
            self._drop(trainee, batch, "error")
        self._send_to(trainee, Discard(name))
        if (
            trainee.errors.died(trainee.frames) is None
            and not self._controller.members[name].failed
        ):
            self.fail(name, text)

    def fail(self, name: str, text: str) -> None:
        """The member trains no more and sits as a frozen opponent."""
        self._controller.fail(name, text)
        self.trainees[name].copying = None
        self.abandon(self.trainees[name], "failed")
        self._decide()

    # --- giving learners their work ---------------------------------------------------------------

    def dispatch(self) -> None:
        """Have the next batch gathered while the one before it is trained."""
        resting = {name for name, _ in self._undecided}
        for trainee in self.trainees.values():
            if (
                trainee.copying is not None
                or trainee.name in resting
                or not all(self._reachable(host) for host in trainee.hosts)
            ):
                continue
            if len(trainee.batches) < 2 and not self.resting:
                self._gather(trainee)
            waiting = trainee.batches[0] if trainee.batches else None
            if waiting is not None and not waiting.training and not waiting.discarded:
                waiting.training, waiting.publications = True, trainee.published.publications
                self._send_to(trainee, Train(trainee.name))

    def _gather(self, trainee: LearnerHandle) -> None:
        if self._config.learning.max_lag is not None:
            # By the time it is trained, the batches in front of it will have been.
            self._permit(
                trainee.batcher.drop_stale(
                    trainee.version + len(trainee.batches), self._config.learning.max_lag
                )
            )
        fulls = trainee.batcher.take()
        if fulls is None:
            return
        shards = len(trainee.hosts)
        trainee.batches.append(
            Dispatched(fulls, trainee.batcher.rows(fulls), set(trainee.hosts), shards)
        )
        for shard, host in enumerate(trainee.hosts):
            self._send(
                host, Gather(trainee.name, tuple(full.slot for full in fulls[shard::shards]))
            )

    def behind(self) -> bool:
        """Some learner has so many batches waiting that workers should hold."""
        batch_slots = self._config.learning.batch_steps // self._config.sampling.rollout_steps
        limit = self._config.runtime.waiting_batches * batch_slots
        return any(len(trainee.batcher.waiting) >= limit for trainee in self.trainees.values())

    @property
    def idle(self) -> bool:
        """No batch, no decision and no copy is on its way."""
        return not self._undecided and not any(
            trainee.batches or trainee.copying is not None for trainee in self.trainees.values()
        )

    def frames_at(self, processes: Collection[str]) -> int:
        """Trained so far by all members whose learners these processes host."""
        return sum(
            trainee.frames
            for trainee in self.trainees.values()
            if not set(trainee.hosts).isdisjoint(processes)
        )

    def rows_at_learners(self) -> int:
        return sum(
            batch.rows
            for trainee in self.trainees.values()
            for batch in trainee.batches
            if not batch.discarded
        )

    # --- copies, ends, deaths ---------------------------------------------------------------------

    def _apply(self, trainee: LearnerHandle, directive: Directive) -> None:
        """Put a round's directive in force. A copy is in force when every shard has said so; no
        row of the replaced weights is trained after it.
        """
        if directive.copy_snapshot is None:
            self._controller.applied(directive)
            self._send_to(trainee, SetHyperparams(trainee.name, dict(directive.hyperparams)))
            return
        trainee.copying = directive
        for batch in list(trainee.batches):
            self._drop(trainee, batch, "generation")
        self._send_copy(trainee)

    def _send_copy(self, trainee: LearnerHandle) -> None:
        directive = trainee.copying
        assert directive is not None and directive.copy_snapshot is not None
        trainee.to_copy = len(trainee.hosts)
        hyperparams = SetHyperparams(trainee.name, dict(directive.hyperparams))
        self._send_to(
            trainee, Discard(trainee.name), hyperparams, Copy(trainee.name, directive.copy_snapshot)
        )

    def abandon(self, trainee: LearnerHandle, reason: str) -> None:
        """Train on nothing of what waits."""
        for batch in list(trainee.batches):
            self._drop(trainee, batch, reason)
        self._send_to(trainee, Discard(trainee.name))
        self._permit(trainee.batcher.discard(reason))

    def _drop(self, trainee: LearnerHandle, batch: Dispatched, reason: str) -> None:
        """Count a batch as dropped; its slots come back when they have been gathered."""
        if not batch.discarded:
            self.dropped[reason] += batch.rows
            batch.discarded = True
        if not batch.to_gather:
            trainee.batches.remove(batch)

    def hosts_died(self, hosts: set[str]) -> None:
        """Learners that lived there start again from what they published: batches whose slots
        are still full wait again, the others are lost.
        """
        for trainee in self.trainees.values():
            if not hosts & set(trainee.hosts):
                continue
            trainee.refresh()
            for batch in reversed(trainee.batches):
                if (
                    batch.training
                    and trainee.published.publications > batch.publications
                    and not batch.discarded
                ):
                    # It was published, only the news of it were lost. The version would not tell:
                    # it stays when every step was skipped.
                    self.rows_trained += batch.rows
                    self._permit(trainee.batcher.permits(batch.fulls) if batch.to_gather else [])
                elif batch.to_gather and batch.fulls and not batch.discarded:
                    trainee.batcher.requeue(batch.fulls)
                elif not batch.discarded:
                    self.dropped["restart"] += batch.rows
                else:
                    self._permit(trainee.batcher.permits(batch.fulls) if batch.to_gather else [])
            trainee.batches.clear()

    def hosts_started(self, hosts: set[str]) -> None:
        """A copy that was not in force when they died is asked for again."""
        for trainee in self.trainees.values():
            if hosts & set(trainee.hosts) and trainee.copying is not None:
                self._send_copy(trainee)

    def slots_died(self) -> None:
        """The sampling plane starts again with free slots: what waited in full ones is lost. A
        batch on its way only loses its permits.
        """
        for trainee in self.trainees.values():
            trainee.batcher.discard("restart")
            for batch in trainee.batches:
                batch.fulls = []

    @property
    def gathering(self) -> bool:
        """A learner still reads slots."""
        return any(
            batch.to_gather for trainee in self.trainees.values() for batch in trainee.batches
        )

    def _send_to(self, trainee: LearnerHandle, *messages: object) -> None:
        for host in trainee.hosts:
            self._send(host, *messages)
