"""A member's learner as the main process knows it, and the batches on their way through it."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from pbt.learning.batcher import Batcher
from pbt.models.weights import model_tensors
from pbt.processes.restarts import RestartPolicy
from pbt.records import Directive
from pbt.runtime.blueprint import Blueprint
from pbt.runtime.placements import ProcessPlan
from pbt.runtime.shared import SharedMemory
from pbt.transport.messages import SlotFull
from pbt.transport.weights import PublishedWeights


@dataclass
class Dispatched:
    """A batch on its way through a learner.

    fulls         its full slots
    rows          valid rows in them
    to_gather     processes whose shard has not copied its slots yet
    to_train      how many shards have not trained yet
    training      the learner was told to train on it
    publications  of the learner at that time; a greater number later shows that it has trained
    discarded     its rows are counted as dropped
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
    """A member's learner in another process, as the main process handles it.

    It fills the port MemberLearner from what the learner published, also after the death of its
    process.

    name       of the member
    role       index of its role
    policy     its index in the policy table
    hosts      names of the processes that host it, one per shard, the publishing one first
    batcher    the queue of its full slots
    published  the weights and everything else that the learner publishes
    errors     how many updates in a row may raise before the member fails
    batches    on their way, oldest first
    copying    a directive whose copy is not in force yet
    to_copy    how many shards have not said Copied
    version    of its weights, as they were last read
    frames     consumed, as they were last read
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
        """Return what the learner published last, and keep the clocks that stand in it."""
        state = self.published.read()
        self.version, self.frames = (int(number) for number in state["clocks"][:2])
        return state

    def weights(self) -> dict[str, Tensor]:
        """Return the model's tensors of what the learner published last, under its own names."""
        return model_tensors(self.state())

    def refresh(self) -> None:
        """Read the clocks alone, which is cheaper than `state`."""
        clocks = torch.zeros(4, dtype=torch.int64)
        self.published.copy_into({"clocks": clocks})
        self.version, self.frames = int(clocks[0]), int(clocks[1])


def learner_handles(
    blueprint: Blueprint, plans: Sequence[ProcessPlan], shared: SharedMemory
) -> list[LearnerHandle]:
    """Return one handle per member, in the members' order."""
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
