"""A member's learner as the scheduler gives it work: its interface, and one in other processes."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from pbt.population.interfaces import MemberLearner
from pbt.runtime import control
from pbt.runtime.blueprint import MemberPlace
from pbt.transport.slab import Slab
from pbt.transport.weights import PublishedWeights


class LearnerHandle(MemberLearner, Protocol):
    """One member's learner, wherever it lives.

    What it answers goes to the function that the handle was made with.

    role       index of its role
    policy     its index in the policy table
    published  the weights that it publishes
    replay     its ring of steps, None where it does not replay
    """

    name: str
    role: int
    policy: int
    published: PublishedWeights
    replay: Slab | None

    @property
    def reachable(self) -> bool:
        """Whether an order would reach the learner now; others are lost."""

    def tell(self, order: control.LearnerOrder) -> None:
        """Have the learner do something: now, or by message. Orders are done one by one."""

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a `state`, before the run begins."""


class RemoteLearner:
    """The LearnerHandle of a learner in another process, or of its shards in several.

    What is read of it comes from what it published, also after the death of its process.

    hosts    names of the processes that host it, one per shard, the publishing one first
    version  of its weights, as they were last read
    frames   consumed, as they were last read
    """

    def __init__(
        self,
        place: MemberPlace,
        hosts: Sequence[str],
        published: PublishedWeights,
        send: Callable[..., None],
        reaches: Callable[[str], bool],
        answer: Callable[[control.LearnerAnswer], None],
        replay: Slab | None = None,
    ) -> None:
        """Connect the handle.

        send(process, message)  sends a message to a process
        reaches(process)        whether the process would hear it
        answer(answer)          takes what every shard has answered
        replay                  see LearnerHandle
        """
        self.name, self.role, self.policy = place
        self.hosts, self.published, self.replay = tuple(hosts), published, replay
        self._send, self._reaches, self._answer = send, reaches, answer
        self.version = self.frames = 0
        # Processes that have not copied their slots yet, by Gather, oldest first.
        self._gathering: deque[set[str]] = deque()
        # Answers of all shards together, by kind.
        self._answered: Counter[type] = Counter()

    @property
    def reachable(self) -> bool:
        return all(self._reaches(host) for host in self.hosts)

    def state(self) -> dict[str, Tensor]:
        """Return what the learner published last, and keep the clocks that stand in it."""
        state = self.published.read()
        self.version, self.frames = (int(number) for number in state["clocks"][:2])
        return state

    def tell(self, order: control.LearnerOrder) -> None:
        """See LearnerHandle. Slots are dealt out to the shards; the first of them attests."""
        hosts, shards = self.hosts, len(self.hosts)
        parts: list[control.LearnerOrder] = [order] * shards
        match order:
            case control.Gather():
                self._gathering.append(set(hosts))
                parts = [order._replace(slots=order.slots[i::shards]) for i in range(shards)]
            case control.Attest():
                hosts = hosts[:1]
        for host, part in zip(hosts, parts, strict=False):
            self._send(host, part)

    def load(self, state: Mapping[str, Tensor]) -> None:
        self.published.publish(state, int(state["clocks"][0]))
        self._read_clocks()

    def hear(self, process: str, answer: control.LearnerAnswer) -> None:
        """Take a shard's answer from its process. It is passed on when all shards have given it."""
        match answer:
            case control.Gathered():
                waiting = next(hosts for hosts in self._gathering if process in hosts)
                waiting.remove(process)
                if waiting:
                    return
                self._gathering.popleft()
            case control.Updated() | control.Copied():
                self._answered[type(answer)] += 1
                if self._answered[type(answer)] % len(self.hosts):
                    return
                self._read_clocks()
        self._answer(answer)

    def died(self) -> None:
        """Expect no answers any more: the learner will start from what it published last."""
        self._gathering.clear()
        self._answered.clear()
        self._read_clocks()

    def _read_clocks(self) -> None:
        """Read the clocks alone, which is cheaper than `state`."""
        clocks = torch.zeros(4, dtype=torch.int64)
        self.published.copy_into({"clocks": clocks})
        self.version, self.frames = int(clocks[0]), int(clocks[1])
