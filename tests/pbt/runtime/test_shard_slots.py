"""A member's learner in two processes: each copies its own slots of a batch, in its own time."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import torch
from gymnasium import spaces

from pbt.envs.contract import Role
from pbt.population.controller import Controller
from pbt.runtime.blueprint import MemberPlace
from pbt.runtime.control import Gather, Gathered
from pbt.runtime.learner_handle import RemoteLearner
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
    sent: list[tuple[str, Any]] = []
    back: list[int] = []

    def send(name: str, *messages: Any) -> None:
        sent.extend((name, message) for message in messages)

    def permit(permit: RolloutPermit) -> None:
        back.append(permit.slot)

    learner = RemoteLearner(
        MemberPlace("m0", 0, 0),
        ("a", "b"),
        PublishedWeights({"clocks": torch.zeros(4, dtype=torch.int64)}),
        send,
        lambda name: True,
        lambda answer: flow.hear(answer),
    )
    config = placed("inline", "tictactoe", 100)
    flow = LearnerScheduler(config, [learner], [slab], controller, permit)
    for slot in range(2 * BATCH_SLOTS):
        flow.slot_full(SlotFull(0, 0, 0, slot))
    flow.dispatch()
    flow.dispatch()
    assert [name for name, message in sent if isinstance(message, Gather)] == ["a", "b", "a", "b"]
    learner.hear("a", Gathered("m0"))
    learner.hear("a", Gathered("m0"))
    assert back == [] and flow.gathering
    learner.hear("b", Gathered("m0"))
    assert back == list(range(BATCH_SLOTS)) and flow.gathering
    learner.hear("b", Gathered("m0"))
    assert back == list(range(2 * BATCH_SLOTS)) and not flow.gathering
