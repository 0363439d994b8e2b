"""The host of learners in a process: it has them do what the main process's messages ask for."""

import time
from collections import deque
from typing import Any

from pbt.hyperparams import Hyperparams
from pbt.learning.background_gathering import BatchGatherer
from pbt.learning.shared_reducer import SharedReducer
from pbt.runtime import control
from pbt.runtime.assembly import new_learner, new_replay
from pbt.runtime.devices import choose_device
from pbt.runtime.hosts import Workplace
from pbt.runtime.local_learner import LocalLearner
from pbt.runtime.placements import Shard


class LearnerHost:
    """Trains learners, one update at a time, in the order of the Train messages."""

    def __init__(self, place: Workplace) -> None:
        self._place, self._channel, self._row = place, place.channel, place.memory.row
        self._device = choose_device(place.config.runtime, "learner_device")
        # Where the process also plays, a thread for gathering would take the worker's core.
        self._batches = BatchGatherer(
            place.memory.slabs,
            self._device,
            background=not place.plan.groups,
            on_gathered=lambda member: self._channel.send(control.Gathered(member)),
        )
        self._learners = {shard.member: self._hosted(shard) for shard in place.plan.trains}
        self._to_train: deque[control.Train] = deque()

    def _hosted(self, shard: Shard) -> LocalLearner:
        """Return the learner as it was published last, with the hyperparameters in force."""
        place = self._place
        member = next(one for one in place.blueprint.members if one.name == shard.member)
        region = place.memory.regions.get(f"replay-{member.name}")
        replay = new_replay(place.blueprint, member, region)
        learner = new_learner(place.blueprint, member, self._device, replay)
        published = place.memory.published(member)
        learner.load_state(published.read())
        learner.set_hyperparams(Hyperparams.from_flat(place.orders["hyperparams"][member.name]))
        reducer = None
        if shard.shards > 1:
            reducer = SharedReducer(
                place.memory.regions[f"reducer-{shard.member}"],
                shard.index,
                shard.shards,
                sum(parameter.numel() for parameter in learner.model.parameters()),
                timeout_s=place.config.learning.timeout_s,
                while_waiting=self._row.beat,
            )
        store, batches, answer = place.store, self._batches, self._answer
        return LocalLearner(member, learner, published, batches, store, answer, shard, reducer)

    def hear(self, message: Any) -> None:
        if isinstance(message, control.Train):
            self._to_train.append(message)
        elif isinstance(message, control.LearnerOrder):
            if isinstance(message, control.Discard):
                waiting = (order for order in self._to_train if order.member != message.member)
                self._to_train = deque(waiting)
            began_s = time.monotonic()
            self._learners[message.member].tell(message)
            if isinstance(message, control.Gather):
                # Where a thread gathers beside the training, this is only the time to ask it.
                self._row.add("gather_s", time.monotonic() - began_s)

    def work(self) -> bool:
        """Do one update, if one is due.

        A learner that raises goes back to what it published last, and the main process is told.
        """
        if not self._to_train:
            return False
        order = self._to_train.popleft()
        hosted, began_s = self._learners[order.member], time.monotonic()
        self._row.enter("learning")
        try:
            hosted.tell(order)
        except Exception as error:  # the other members of this process must go on
            if hosted.shard.shards > 1:
                # The other shards wait in the middle of a sum, so all of them must start again.
                raise
            hosted.learner.load_state(hosted.published.read())
            self._channel.send(control.MemberError(hosted.name, f"{type(error).__name__}: {error}"))
        self._row.add("learn_s", time.monotonic() - began_s)
        return True

    def _answer(self, answer: control.LearnerAnswer) -> None:
        """Count what happened on the board, then tell the main process."""
        if isinstance(answer, control.Updated) and self._learners[answer.member].shard.index == 0:
            self._row.add("trained", answer.stats.rows)
        self._channel.send(answer)
