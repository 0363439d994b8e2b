"""The queue in front of a learner: the owners of slots, and the rows that are refused."""

import gymnasium
import numpy as np
import pytest
import torch

from pbt.envs.contract import Role
from pbt.errors import EngineError
from pbt.learning.batcher import Batcher, gather
from pbt.transport.messages import RolloutPermit, SlotFull
from pbt.transport.slab import OBSERVATION_PREFIX, Slab, role_layout

T, SLOTS = 4, 12
ROLE = Role(
    "player",
    gymnasium.spaces.Dict(
        {
            "image": gymnasium.spaces.Box(0, 255, (2, 3), np.uint8),
            "numbers": gymnasium.spaces.Box(-9, 9, (5,), np.float32),
        }
    ),
    gymnasium.spaces.MultiDiscrete((3, 2)),
)


def full(slot: int, generation: int = 0) -> SlotFull:
    return SlotFull(0, 1, generation, slot)


@pytest.fixture
def slab() -> Slab:
    """Random rows, some of them not valid, some slots at the end of an episode."""
    rng = np.random.default_rng(0)
    slab = Slab(role_layout(ROLE, ("kill", "ammo"), T, 3), SLOTS)
    for column in slab.column.values():
        column[...] = (
            rng.integers(0, 2, column.shape)
            if column.dtype == np.bool_
            else rng.integers(0, 99, column.shape)
        )
    return slab


def test_slots_are_handed_out_oldest_first_and_only_as_whole_batches(slab: Slab) -> None:
    batcher = Batcher(slab, 0, 3)
    for slot in (5, 1, 7, 2):
        assert batcher.add(full(slot), 0) == []
    taken = batcher.take()
    assert taken == [full(5), full(1), full(7)] and batcher.take() is None
    assert batcher.waiting == (2,)
    assert batcher.permits(taken) == [
        RolloutPermit(0, 5),
        RolloutPermit(0, 1),
        RolloutPermit(0, 7),
    ]
    assert batcher.rows(taken) == slab.column["valid"][[5, 1, 7]].sum()


def test_a_rollout_takes_all_that_waits(slab: Slab) -> None:
    batcher = Batcher(slab, 0, 2)
    for slot in (5, 1, 7):
        batcher.add(full(slot), 0)
    assert batcher.take_all() == [full(5), full(1), full(7)]
    assert batcher.take_all() == [] and len(batcher) == 0


def test_what_was_not_trained_on_is_taken_again_in_its_order(slab: Slab) -> None:
    batcher = Batcher(slab, 0, 2)
    for slot in range(5):
        batcher.add(full(slot), 0)
    first, second = batcher.take(), batcher.take()
    assert first is not None and second is not None
    batcher.requeue([*first, *second])
    assert batcher.waiting == (0, 1, 2, 3, 4) and batcher.take() == first
    assert batcher.dropped == {}


def test_old_generations_and_refused_slots_go_straight_back_and_are_counted(slab: Slab) -> None:
    batcher = Batcher(slab, 0, 2)
    assert batcher.add(full(3, 1), 2) == [RolloutPermit(0, 3)]
    assert batcher.add(full(4, 2), 2, refuse="finished") == [RolloutPermit(0, 4)]
    valid = slab.column["valid"].sum(axis=1)
    assert (
        batcher.dropped == {"generation": valid[3], "finished": valid[4]} and batcher.waiting == ()
    )
    batcher.add(full(6, 2), 2)
    assert (
        batcher.discard("generation") == [RolloutPermit(0, 6)]
        and batcher.discard("generation") == []
    )
    assert batcher.dropped["generation"] == valid[3] + valid[6]


def test_a_slot_is_as_stale_as_its_oldest_valid_row(slab: Slab) -> None:
    versions, valid = slab.column["version"], slab.column["valid"]
    valid[:4] = True
    versions[0], versions[1], versions[2], versions[3] = 10, 7, 10, 6
    versions[2, 1], valid[2, 1] = -1, False
    batcher = Batcher(slab, 0, 4)
    for slot in range(4):
        batcher.add(full(slot), 0)
    assert batcher.drop_stale(10, 4) == []
    assert batcher.drop_stale(10, 3) == [RolloutPermit(0, 3)]
    assert batcher.drop_stale(11, 3) == [RolloutPermit(0, 1)]
    assert batcher.dropped == {"stale": 2 * T} and batcher.waiting == (0, 2)
    batcher.discard("generation")
    assert batcher.drop_stale(99, 0) == []


def test_a_saved_queue_goes_on(slab: Slab) -> None:
    one, two = Batcher(slab, 0, 2), Batcher(slab, 0, 2)
    one.add(full(4), 0)
    one.add(full(9, 1), 0)
    two.load(one.state())
    assert two.waiting == (4,) and two.dropped == one.dropped and two.state() == one.state()


def test_a_batch_holds_the_rows_of_its_slots_time_first_and_zeros_where_nothing_may_be_read(
    slab: Slab,
) -> None:
    slots = np.array([7, 2, 2, 11])
    slab.column["valid"][slots, : T - 1] = True
    slab.column[OBSERVATION_PREFIX + "numbers"][7, T] = np.nan
    slab.column["valid"][7, -1], slab.column["terminated"][7, -1] = True, True
    slab.column["valid"][2, -1], slab.column["terminated"][2, -1] = True, False
    slab.column["valid"][11, -1] = False
    batch = gather(slab, slots)
    for name, tensor in batch.tensors().items():
        rows = slice(None) if name == "initial_state" else slice(0, T)
        of_slots = (
            slab.column[name][slots]
            if name == "initial_state"
            else slab.column[name][slots].swapaxes(0, 1)
        )
        assert torch.equal(tensor[rows], torch.from_numpy(np.ascontiguousarray(of_slots))[rows]), (
            name
        )
        assert tensor.is_contiguous()
    for name, leaf in batch.observations.items():
        assert torch.equal(
            leaf[T, 1], torch.from_numpy(slab.column[OBSERVATION_PREFIX + name][2, T])
        )
        assert not leaf[T, [0, 3]].any()
    assert batch.mask[T, [0, 3]].all() and batch.episode_start[T, [0, 3]].all()
    assert torch.equal(batch.mask[T, 1], torch.from_numpy(slab.column["mask"][2, T]))


def test_slots_that_were_not_full_have_zeros_behind_what_was_seen(slab: Slab) -> None:
    """As a checkpoint of a rhythm of rollouts may hold them."""
    slab.column["valid"][3, :] = [True] * 2 + [False] * (T - 2)
    slab.column["terminated"][3, :2] = False
    batch = gather(slab, np.array([3]))
    for name, leaf in batch.observations.items():
        seen = torch.from_numpy(slab.column[OBSERVATION_PREFIX + name][3, :3])
        assert torch.equal(leaf[:3, 0], seen) and not leaf[3:].any()
    assert batch.mask[3:].all() and batch.episode_start[3:].all()


def test_a_batch_is_its_tensors_and_its_parts(slab: Slab) -> None:
    batch = gather(slab, np.arange(5))
    parts = batch.select(torch.tensor([3, 1]))
    direct = gather(slab, np.array([3, 1]))
    moved = batch.to(torch.device("cpu"))
    assert (parts.slots, batch.slots) == (2, 5)
    for name, tensor in direct.tensors().items():
        assert torch.equal(parts.tensors()[name], tensor) and torch.equal(
            moved.tensors()[name], batch.tensors()[name]
        )


@pytest.mark.parametrize("slot", [-1, SLOTS])
def test_a_slot_that_does_not_exist_is_refused(slab: Slab, slot: int) -> None:
    with pytest.raises(EngineError, match=f"the slab has {SLOTS}"):
        gather(slab, np.array([3, slot]))
