"""The host of learners in a process: it gathers, trains, publishes and copies as it is told."""

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import torch

from pbt.errors import EngineError
from pbt.hyperparams import Hyperparams
from pbt.learning.attesting import Attestation, Attestor
from pbt.learning.background_gathering import BatchGatherer
from pbt.learning.learner import Learner
from pbt.learning.reducer import Reducer, SingleReducer
from pbt.learning.shared_reducer import SharedReducer
from pbt.runtime import control
from pbt.runtime.assembly import new_learner
from pbt.runtime.blueprint import MemberPlace
from pbt.runtime.devices import choose_device
from pbt.runtime.hosts import Workplace
from pbt.runtime.placements import Shard
from pbt.transport.weights import PublishedWeights


@dataclass
class HostedLearner:
    """A learner, or one shard of it.

    shard      which part of the member's batches it trains
    role       index of the member's role
    published  where the learner publishes; shard 0 alone does
    reducer    adds up gradients over the shards
    attestor   watches the learner; that of shard 0 alone is asked to
    """

    shard: Shard
    role: int
    learner: Learner
    published: PublishedWeights
    reducer: Reducer
    attestor: Attestor

    def publish(self) -> None:
        if self.shard.index == 0:
            # `publish` copies tensor by tensor; from another device one transfer comes first.
            learner = self.learner
            state = learner.tensors() if learner.device.type == "cpu" else learner.state()
            self.published.publish(state, learner.version, attested=self.attestor.attests)


class LearnerHost:
    """Trains learners, one update at a time, in the order of the Train messages."""

    def __init__(self, place: Workplace) -> None:
        self._place, self._channel, self._row = place, place.channel, place.memory.row
        device = choose_device(place.config.runtime, "learner_device")
        members = {member.name: member for member in place.blueprint.members}
        self._policies = {member.name: member.policy for member in place.blueprint.members}
        self._learners = {
            shard.member: self._hosted(shard, members[shard.member], device)
            for shard in place.plan.trains
        }
        # Where the process also plays, a thread for gathering would take the worker's core.
        background = not place.plan.groups
        self._gatherer = BatchGatherer(
            place.memory.slabs, device, background=background, on_gathered=self._gathered
        )
        self._to_train: deque[str] = deque()

    def _hosted(self, shard: Shard, member: MemberPlace, device: torch.device) -> HostedLearner:
        """Return the learner as it was published last, with the hyperparameters in force."""
        learner = new_learner(self._place.blueprint, member, device)
        published = self._place.memory.published(member)
        learner.load_state(published.read())
        learner.set_hyperparams(
            Hyperparams.from_flat(self._place.orders["hyperparams"][member.name])
        )
        reducer: Reducer = SingleReducer()
        if shard.shards > 1:
            region = self._place.memory.regions[f"reducer-{shard.member}"]
            parameters = sum(parameter.numel() for parameter in learner.model.parameters())
            timeout_s = self._place.config.learning.timeout_s
            reducer = SharedReducer(
                region,
                shard.index,
                shard.shards,
                parameters,
                timeout_s=timeout_s,
                while_waiting=self._row.beat,
            )
        attestor = Attestor(learner)
        return HostedLearner(shard, member.role, learner, published, reducer, attestor)

    def hear(self, message: Any) -> None:
        match message:
            case control.Gather():
                self._gather(message.member, message.slots)
            case control.Train():
                self._to_train.append(message.member)
            case control.Discard():
                self._to_train = deque(
                    member for member in self._to_train if member != message.member
                )
                self._gatherer.discard(message.member)
            case control.Copy():
                self._copy(self._learners[message.member], message.snapshot_id)
            case control.SetHyperparams():
                self._learners[message.member].learner.set_hyperparams(
                    Hyperparams.from_flat(message.values)
                )
            case control.Attest():
                attestor = self._learners[message.member].attestor
                self._attested(message.member, attestor.begin(message.publications))

    def work(self) -> bool:
        """Do one update, if one is due.

        A learner that raises goes back to what it published last, and the main process is told.
        """
        if not self._to_train:
            return False
        name = self._to_train.popleft()
        hosted = self._learners[name]
        try:
            self._update(name, hosted)
        except Exception as error:  # the other members of this process must go on
            if hosted.shard.shards > 1:
                # The other shards wait in the middle of a sum, so all of them must start again.
                raise
            hosted.learner.load_state(hosted.published.read())
            self._channel.send(control.MemberError(name, f"{type(error).__name__}: {error}"))
        return True

    def _gather(self, name: str, slots: tuple[int, ...]) -> None:
        """Gather slots for a member. Raises: EngineError when another policy acted in a row."""
        role, policy = self._learners[name].role, self._policies[name]
        column = self._place.memory.slabs[role].column
        foreign = column["valid"][list(slots)] & (column["policy"][list(slots)] != policy)
        if foreign.any():
            raise EngineError(
                f"{int(foreign.sum())} rows given to the learner of {name} (policy "
                f"{policy}) were acted by other policies"
            )
        began_s = time.monotonic()
        self._gatherer.gather(name, role, slots)
        # Where a thread gathers beside the training, this is only the time to ask it.
        self._row.add("gather_s", time.monotonic() - began_s)

    def _update(self, name: str, hosted: HostedLearner) -> None:
        began_s = time.monotonic()
        self._row.enter("learning")
        stats = hosted.attestor.update(self._gatherer.take(name), hosted.reducer)
        hosted.publish()
        self._attested(name, hosted.attestor.take())
        if hosted.shard.index == 0:
            self._row.add("trained", stats.rows)
        self._channel.send(control.Updated(name, stats))
        self._row.add("learn_s", time.monotonic() - began_s)

    def _attested(self, name: str, attestation: Attestation | None) -> None:
        if attestation is not None:
            self._channel.send(control.Attested(name, attestation))

    def _copy(self, hosted: HostedLearner, snapshot_id: str) -> None:
        hosted.learner.copy_from(self._place.store.load(snapshot_id))
        hosted.publish()
        self._channel.send(control.Copied(hosted.shard.member))

    def _gathered(self, member: str) -> None:
        self._channel.send(control.Gathered(member))
