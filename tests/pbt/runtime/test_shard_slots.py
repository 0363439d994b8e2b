"""A member's learner in two processes: each copies its own slots of a batch, in its own time."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import torch
from gymnasium import spaces

from pbt.envs.contract import Role
from pbt.learning.batcher import Batcher
from pbt.population.controller import Controller
from pbt.processes.restarts import RestartPolicy
from pbt.runtime.control import Gather
from pbt.runtime.learner_handle import LearnerHandle
from pbt.runtime.learner_scheduler import LearnerScheduler
from pbt.transport.messages import RolloutPermit, SlotFull
from pbt.transport.slab import Slab, role_layout
from pbt.transport.weights import PublishedWeights
from tests.pbt.runtime.placing import placed

BATCH_SLOTS = 8


def test_slots_come_back_when_every_shard_has_copied_its_own() -> None:
    """A quick shard may be two batches ahead of the other; it answers for its own slots only."""
    role = Role("player", spaces.Box(0.0, 1.0, (1,), np.float32), spaces.Discrete(2))
    slab = Slab(role_layout(role, ("reward",), 4, 0), 2 * BATCH_SLOTS)
    member = SimpleNamespace(generation=0, refused="", failed=False)
    controller = cast("Controller", SimpleNamespace(members={"m0": member}))
    handle = LearnerHandle(
        "m0",
        0,
        0,
        ("a", "b"),
        Batcher(slab, 0, BATCH_SLOTS),
        PublishedWeights({"clocks": torch.zeros(4, dtype=torch.int64)}),
        RestartPolicy(1),
    )
    sent: list[tuple[str, Any]] = []
    back: list[int] = []

    def send(name: str, *messages: Any) -> None:
        sent.extend((name, message) for message in messages)

    def permit(permits: list[RolloutPermit]) -> None:
        back.extend(permit.slot for permit in permits)

    flow = LearnerScheduler(
        placed("inline", "tictactoe", 100), [handle], controller, send, lambda name: True, permit
    )
    for slot in range(2 * BATCH_SLOTS):
        flow.slot_full(SlotFull(0, 0, 0, slot))
    flow.dispatch()
    flow.dispatch()
    assert [name for name, message in sent if isinstance(message, Gather)] == ["a", "b", "a", "b"]
    flow.gathered("a", "m0")
    flow.gathered("a", "m0")
    assert back == [] and flow.gathering
    flow.gathered("b", "m0")
    assert back == list(range(BATCH_SLOTS)) and flow.gathering
    flow.gathered("b", "m0")
    assert back == list(range(2 * BATCH_SLOTS)) and not flow.gathering
