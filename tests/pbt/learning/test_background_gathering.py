"""Batches copied beside the learner: in order, of the right slots, and no failure is silent."""

import threading

import gymnasium
import numpy as np
import pytest
import torch

from pbt.algorithms.batch import Batch
from pbt.envs.contract import Role
from pbt.errors import EngineError
from pbt.learning import background_gathering as gathering
from pbt.learning.background_gathering import BatchGatherer
from pbt.learning.batcher import gather
from pbt.transport.slab import Slab, role_layout
from pbt.transport.staging import CPU, Staging

ROLE = Role("player", gymnasium.spaces.Box(-9, 9, (5,), np.float32), gymnasium.spaces.Discrete(3))


@pytest.fixture
def slabs() -> list[Slab]:
    """Two roles, all columns random."""
    rng, slabs = np.random.default_rng(0), []
    for state_size in (0, 4):
        slab = Slab(role_layout(ROLE, ("reward",), 3, state_size), 10)
        for column in slab.column.values():
            column[...] = rng.integers(0, 2 if column.dtype == np.bool_ else 99, column.shape)
        slabs.append(slab)
    return slabs


@pytest.fixture(params=["without staging", "staged"])
def _ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to a batch, on the CPU."""
    if request.param == "staged":
        monkeypatch.setattr(gathering, "staging_for", Staging)


def equal(one: Batch, two: Batch) -> bool:
    tensors = two.tensors()
    return all(torch.equal(tensor, tensors[name]) for name, tensor in one.tensors().items())


@pytest.mark.usefixtures("_ways")
@pytest.mark.parametrize("background", [False, True])
def test_every_member_gets_its_own_batches_in_the_order_asked(
    slabs: list[Slab], background: bool
) -> None:
    told: list[str] = []
    gatherer = BatchGatherer(slabs, background=background, on_gathered=told.append)
    asked = [("m0", 0, (1, 2)), ("m1", 1, (9, 0, 4)), ("m0", 0, (3, 1)), ("m0", 1, (5, 6))]
    for member, role, slots in asked:
        gatherer.gather(member, role, slots)
    got = {
        member: [gatherer.take(member) for name, *_ in asked if name == member]
        for member in ("m0", "m1")
    }
    gatherer.close()
    expected = [(member, gather(slabs[role], np.array(slots))) for member, role, slots in asked]
    for member, batches in got.items():
        assert all(
            equal(batch, expect)
            for batch, expect in zip(batches, [b for m, b in expected if m == member], strict=True)
        )
    assert told == [member for member, *_ in asked]


@pytest.mark.usefixtures("_ways")
def test_slots_may_be_filled_again_once_gathered_was_said(slabs: list[Slab]) -> None:
    gathered = threading.Event()
    gatherer = BatchGatherer(slabs, on_gathered=lambda member: gathered.set())
    expected = gather(slabs[0], np.array([1, 2]))
    gatherer.gather("m0", 0, (1, 2))
    assert gathered.wait(30)
    for slot in (1, 2):
        slabs[0].poison(slot)
    assert equal(gatherer.take("m0"), expected)
    gatherer.close()


def test_gathered_is_said_before_the_batch_can_be_taken(slabs: list[Slab]) -> None:
    taken = threading.Event()
    waited: list[bool] = []
    gatherer = BatchGatherer(slabs, on_gathered=lambda member: waited.append(taken.wait(0.1)))
    gatherer.gather("m0", 0, (1, 2))
    gatherer.take("m0")
    taken.set()
    assert waited == [False]
    gatherer.close()


def test_a_discarded_batch_never_comes_and_the_next_one_does(slabs: list[Slab]) -> None:
    gatherer = BatchGatherer(slabs)
    for slots in ((1, 2), (3, 4)):
        gatherer.gather("m0", 0, slots)
    gatherer.gather("m1", 0, (5,))
    gatherer.discard("m0")
    gatherer.discard("m0")
    gatherer.gather("m0", 0, (7, 8))
    assert equal(gatherer.take("m0"), gather(slabs[0], np.array([7, 8])))
    assert equal(gatherer.take("m1"), gather(slabs[0], np.array([5])))
    gatherer.close()


def test_a_batch_nobody_asked_for_is_an_error_at_once(slabs: list[Slab]) -> None:
    with pytest.raises(EngineError, match="batch of m0: found no slots to gather"):
        BatchGatherer(slabs, background=False).take("m0")


@pytest.mark.parametrize("background", [False, True])
def test_a_copy_that_fails_is_told_and_raised_where_the_batch_is_wanted(
    slabs: list[Slab], background: bool
) -> None:
    told = threading.Event()
    gatherer = BatchGatherer(slabs, background=background, on_gathered=lambda member: told.set())
    gatherer.gather("m0", 7, (1,))
    assert told.wait(30)
    with pytest.raises(EngineError, match="batch of m0 could not be copied: IndexError"):
        gatherer.take("m0")
    gatherer.gather("m0", 0, (1,))
    assert equal(gatherer.take("m0"), gather(slabs[0], np.array([1])))
    gatherer.close()


def test_a_batch_that_is_not_copied_in_time_is_named(slabs: list[Slab]) -> None:
    release = threading.Event()
    gatherer = BatchGatherer(slabs, CPU, on_gathered=lambda member: release.wait(30) and None)
    gatherer.gather("m1", 0, (1,))
    gatherer.gather("m0", 0, (1,))
    with pytest.raises(EngineError, match=r"batch of m0: it is not copied after 0\.05 s"):
        gatherer.take("m0", timeout_s=0.05)
    release.set()
    assert gatherer.take("m0").slots == 1
    gatherer.close()
