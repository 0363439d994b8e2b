"""A member's learner as the scheduler gives it work: its interface, and one in other processes."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from pbt.models.weights import model_tensors
from pbt.population.interfaces import MemberLearner
from pbt.runtime import control
from pbt.runtime.blueprint import MemberPlace
from pbt.runtime.control import LearnerAnswer
from pbt.transport.weights import PublishedWeights


class LearnerHandle(MemberLearner, Protocol):
    """One member's learner, wherever it lives.

    A LocalLearner has done what a call asks for when the call returns; a RemoteLearner sends a
    message. What comes of a call is a LearnerAnswer to the function that the handle was made with.

    role       index of its role
    policy     its index in the policy table
    published  the weights that it publishes
    """

    name: str
    role: int
    policy: int
    published: PublishedWeights

    @property
    def reachable(self) -> bool:
        """Whether calls reach the learner now; others are lost."""

    def gather(self, slots: Sequence[int]) -> None:
        """Copy full slots into the next batch. Answer: Gathered when they may be filled again."""

    def train(self) -> None:
        """Update on the oldest batch that was gathered, and publish.

        Answer: Updated; or MemberError, and the learner is again what it published before.
        """

    def discard(self) -> None:
        """Forget every batch that was gathered."""

    def copy(self, snapshot_id: str) -> None:
        """Take a snapshot's weights, normaliser and moments, and publish. Answer: Copied."""

    def set_hyperparams(self, values: Mapping[str, float]) -> None:
        """Train with these values from the next update on."""

    def attest(self, publications: int) -> None:
        """Attest the weights now and the publications that follow. Answer: Attested for each."""

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a `state`, before the run begins."""

    def weights(self) -> Mapping[str, Tensor]:
        """Return the model's tensors under its own names."""


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
        answer: Callable[[LearnerAnswer], None],
    ) -> None:
        """Connect the handle.

        send(process, message)  sends a message to a process
        reaches(process)        whether the process would hear it
        answer(answer)          takes what every shard has answered
        """
        self.name, self.role, self.policy = place
        self.hosts, self.published = tuple(hosts), published
        self._send, self._reaches, self._answer = send, reaches, answer
        self.version = self.frames = 0
        # Processes that have not copied their slots yet, by call of `gather`, oldest first.
        self._gathering: deque[set[str]] = deque()
        # How many shards have not answered the newest call.
        self._updating = self._copying = 0

    @property
    def reachable(self) -> bool:
        return all(self._reaches(host) for host in self.hosts)

    def state(self) -> dict[str, Tensor]:
        """Return what the learner published last, and keep the clocks that stand in it."""
        state = self.published.read()
        self.version, self.frames = (int(number) for number in state["clocks"][:2])
        return state

    def weights(self) -> Mapping[str, Tensor]:
        return model_tensors(self.state())

    def gather(self, slots: Sequence[int]) -> None:
        """See LearnerHandle; slots are dealt out to the shards."""
        self._gathering.append(set(self.hosts))
        for shard, host in enumerate(self.hosts):
            self._send(host, control.Gather(self.name, tuple(slots[shard :: len(self.hosts)])))

    def train(self) -> None:
        self._updating = self._tell(control.Train(self.name))

    def discard(self) -> None:
        self._tell(control.Discard(self.name))

    def copy(self, snapshot_id: str) -> None:
        self._copying = self._tell(control.Copy(self.name, snapshot_id))

    def set_hyperparams(self, values: Mapping[str, float]) -> None:
        self._tell(control.SetHyperparams(self.name, dict(values)))

    def attest(self, publications: int) -> None:
        self._send(self.hosts[0], control.Attest(self.name, publications))

    def load(self, state: Mapping[str, Tensor]) -> None:
        self.published.publish(state, int(state["clocks"][0]))
        self._read_clocks()

    def hear(self, process: str, answer: LearnerAnswer) -> None:
        """Take a shard's answer from its process. It is passed on when all shards have given it."""
        match answer:
            case control.Gathered():
                waiting = next(hosts for hosts in self._gathering if process in hosts)
                waiting.remove(process)
                if waiting:
                    return
                self._gathering.popleft()
            case control.Updated():
                self._updating -= 1
                if self._updating:
                    return
                self._read_clocks()
            case control.Copied():
                self._copying -= 1
                if self._copying:
                    return
        self._answer(answer)

    def died(self) -> None:
        """Expect no answers any more: the learner will start from what it published last."""
        self._gathering.clear()
        self._read_clocks()

    def _read_clocks(self) -> None:
        """Read the clocks alone, which is cheaper than `state`."""
        clocks = torch.zeros(4, dtype=torch.int64)
        self.published.copy_into({"clocks": clocks})
        self.version, self.frames = int(clocks[0]), int(clocks[1])

    def _tell(self, message: object) -> int:
        """Send every shard a message; returns how many there are."""
        for host in self.hosts:
            self._send(host, message)
        return len(self.hosts)
