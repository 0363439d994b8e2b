"""Shared memory is zero, cheap until touched, the same in every process, and gone with the last."""

import gc
import itertools
import os

import numpy as np
import pytest
from gymnasium import spaces

from pbt.envs.contract import Role
from pbt.errors import EngineError
from pbt.sampling.rows import RowWriter
from pbt.transport.memory import ALIGNMENT_BYTES, Region
from pbt.transport.slab import Slab, role_layout, slab_bytes
from tests.pbt.transport.programs import heard, start

ROLE = Role(
    "player",
    spaces.Dict({"map": spaces.Box(-1, 1, (5, 3)), "health": spaces.Discrete(4)}),
    spaces.MultiDiscrete([3, 2]),
)


def touched_bytes(region: Region) -> int:
    return os.fstat(region.fd).st_blocks * 512


def test_another_process_sees_and_changes_the_same_memory() -> None:
    region = Region.create("numbers", 4096)
    numbers = region.array(np.int64, 4, 64)
    numbers[:] = [1, 2, 3, 4]
    with start("share_memory", [region.fd], fd=region.fd, size=region.size) as process:
        assert heard(process) == "done"
        process.kill()
        process.wait()
    assert numbers.tolist() == [2, 3, 4, 5]


def test_memory_is_zero_and_costs_nothing_until_it_is_touched() -> None:
    region = Region.create("large", 1 << 34)
    assert touched_bytes(region) == 0
    array = region.array(np.float64, (4, 1 << 20), 1 << 30)
    array[2, 5] = 1.0
    assert array[2].sum() == 1.0
    assert 0 < touched_bytes(region) < 1 << 24


def test_a_region_is_known_by_its_size_and_never_shrinks() -> None:
    region = Region.create("numbers", 4096)
    with pytest.raises(EngineError, match=r"found 4096 bytes; expected 8192"):
        Region.attach(os.dup(region.fd), 8192)
    with pytest.raises(PermissionError):
        os.ftruncate(region.fd, 0)
    assert not os.get_inheritable(region.fd)
    with pytest.raises(EngineError, match="a size of 0 bytes"):
        Region.create("nothing", 0)


def test_arrays_outlive_their_region_and_never_leave_it() -> None:
    region = Region.create("numbers", 4096)
    array = region.array(np.int32, 8)
    with pytest.raises(
        EngineError, match="bytes 4032 to 4160 were asked of shared memory of 4096 bytes"
    ):
        region.array(np.int64, (4, 4), 4032)
    with pytest.raises(EngineError, match="bytes -8 to 0"):
        region.array(np.int64, 1, -8)
    region.close()
    region.close()
    del region
    gc.collect()
    array[:] = 7
    assert array.sum() == 56
    with pytest.raises(EngineError, match="expected a region of 4096 bytes"):
        Region.attach(10_000, 4096)


@pytest.mark.parametrize("slots", [1, 3, 50])
@pytest.mark.parametrize("state_size", [0, 6])
def test_a_shared_slab_has_the_columns_of_a_private_one(slots: int, state_size: int) -> None:
    layout = role_layout(ROLE, ("win", "speed"), 4, state_size)
    region = Region.create("slab", slab_bytes(layout, slots))
    shared, private = Slab(layout, slots, region), Slab(layout, slots)
    assert shared.column.keys() == private.column.keys()
    start_of_memory = np.frombuffer(region.buffer, np.uint8).ctypes.data
    spans = []
    for name, column in shared.column.items():
        assert (column.shape, column.dtype) == (
            private.column[name].shape,
            private.column[name].dtype,
        )
        offset = column.ctypes.data - start_of_memory
        assert offset % ALIGNMENT_BYTES == 0
        spans.append((offset, offset + column.nbytes))
    assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(spans))
    assert region.size - ALIGNMENT_BYTES < max(stop for _, stop in spans) <= region.size
    assert shared.nbytes == private.nbytes


def test_a_shared_slab_is_poisoned_slot_by_slot_as_they_are_opened() -> None:
    layout = role_layout(ROLE, ("win",), 400, 6)
    region = Region.create("slab", slab_bytes(layout, 4000))
    slab, private = Slab(layout, 4000, region), Slab(layout, 4000)
    assert touched_bytes(region) == 0
    RowWriter(slab).open(np.array([1234]))
    RowWriter(private).open(np.array([1234]))
    # What attaches later sees it, and destroys nothing.
    attached = Slab(layout, 4000, Region.attach(os.dup(region.fd), region.size))
    for name, column in attached.column.items():
        np.testing.assert_array_equal(column[1234], private.column[name][1234], err_msg=name)
        assert not column[1233].any()
    assert touched_bytes(region) < region.size / 10


def test_populated_slots_are_there_and_keep_what_was_written() -> None:
    layout = role_layout(ROLE, ("reward",), 64, 0)
    region = Region.create("slab", slab_bytes(layout, 1000))
    slab = Slab(layout, 1000, region)
    slab.column["version"][123] = 7
    slab.populate(range(100, 200))
    # Each column has its own pages.
    spare = 2 * 4096 * len(slab.column)
    assert abs(touched_bytes(region) - slab.nbytes / 10) < spare < slab.nbytes / 20
    assert (slab.column["version"][123] == 7).all() and not slab.column["version"][124].any()
    slab.populate(range(0))


def test_a_region_that_is_too_small_for_a_slab_is_refused() -> None:
    layout = role_layout(ROLE, ("win",), 4, 6)
    with pytest.raises(EngineError, match="were asked of shared memory of"):
        Slab(layout, 8, Region.create("slab", slab_bytes(layout, 4)))
