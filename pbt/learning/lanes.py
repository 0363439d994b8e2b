"""The rows of a rollout as a batch: runs of one seat's rows, packed behind each other in lanes.

A rollout ends for all tables at once, in the middle of games and of slots. A run is what one seat
did in one game within it, whatever slots it stands in. So a batch depends on the games alone, and
not on the process that played them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from pbt.algorithms.batch import Batch
from pbt.errors import EngineError
from pbt.learning.batcher import NOT_TRAINED_ON
from pbt.transport.slab import Slab, flat_rows
from pbt.transport.staging import Form

Integers = NDArray[np.int64]
_NOWHERE = -1


class Runs(NamedTuple):
    """R runs, in the order of their origin.

    slots, rows  of all N rows, run by run
    first        [R] where each run begins among them
    lengths      [R] its rows
    tails        [R] 1 where a row behind the last one bootstraps it, 0 where the episode ended
    fresh        [R] it begins an episode
    """

    slots: Integers
    rows: Integers
    first: Integers
    lengths: Integers
    tails: Integers
    fresh: NDArray[np.bool_]


class Lanes(NamedTuple):
    """Where the rows of a batch stand in a slab: T rows in each of B lanes.

    slots, rows  [T+1, B] of each place; _NOWHERE in places without a row
    valid        [T, B] the row is trained on; where it is not, it may bootstrap the one before
    """

    slots: Integers
    rows: Integers
    valid: NDArray[np.bool_]


def runs_of(slab: Slab, slots: Integers, most: int | None = None) -> Runs:
    """The runs in full slots, in the order of (table, game count, seat, step).

    most  rows of a run; longer ones are cut into pieces
    """
    column = slab.column
    place, rows = np.nonzero(column["valid"][slots])
    own = slots[place]
    origin = column["origin"][own, rows]
    order = np.lexsort(origin.T[::-1])
    own, rows, origin = own[order], rows[order], origin[order]
    begins = np.ones(len(own), np.bool_)
    begins[1:] = (origin[1:, :3] != origin[:-1, :3]).any(1) | (origin[1:, 3] != origin[:-1, 3] + 1)
    first = np.flatnonzero(begins)
    if most is not None:
        within = np.arange(len(own)) - np.repeat(first, np.diff(first, append=len(own)))
        first = np.flatnonzero(begins | (within % most == 0))
    lengths = np.diff(first, append=len(own))
    last = own[first + lengths - 1], rows[first + lengths - 1]
    tails = (~column["terminated"][last]).astype(np.int64)
    fresh = column["episode_start"][own[first], rows[first]]
    return Runs(own, rows, first, lengths, tails, fresh)


def pack(
    runs: Runs, length: int | None = None, *, remembers: bool
) -> tuple[Integers, Integers, int]:
    """(lane, place in it) of each run, and the rows of a lane.

    The longest come first, each into the fullest lane with room for it. Behind a run comes the row
    that bootstraps it, but at the end of a lane that is its row T.

    length     rows of a lane; None: as many as the longest run has
    remembers  the network has a memory, so a run that goes on with a game begins a lane
    """
    length = int(runs.lengths.max(initial=0)) if length is None else length
    # Runs that must begin a lane come before all others.
    bound = ~runs.fresh if remembers else np.zeros(len(runs.fresh), np.bool_)
    order = np.lexsort((-(runs.lengths + runs.tails), ~bound))
    lane, place = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    # By free rows, the lanes with so many, newest last.
    free: list[list[int]] = [[] for _ in range(length + 1)]
    lanes = 0
    columns = (one[order].tolist() for one in (runs.lengths, runs.tails, bound))
    for run, rows, tail, begins in zip(order.tolist(), *columns, strict=True):
        left = length
        found = None if begins else next((n for n in range(rows, length) if free[n]), None)
        if found is None:
            lane[run], lanes = lanes, lanes + 1
        else:
            left = found
            lane[run] = free[found].pop()
        place[run] = length - left
        free[max(0, left - rows - tail)].append(int(lane[run]))
    return lane, place, length


def lanes_of(slab: Slab, slots: Integers, most: int | None = None) -> Lanes:
    """The rows of full slots in lanes. most: rows of a lane, None: as the longest run needs."""
    runs = runs_of(slab, slots, most)
    lane, place, length = pack(runs, most, remembers=slab.layout.state_size > 0)
    shape = length + 1, int(lane.max(initial=-1)) + 1
    own, rows = np.full(shape, _NOWHERE, np.int64), np.full(shape, _NOWHERE, np.int64)
    within = np.arange(len(runs.slots)) - np.repeat(runs.first, runs.lengths)
    at = np.repeat(place, runs.lengths) + within, np.repeat(lane, runs.lengths)
    own[at], rows[at] = runs.slots, runs.rows
    valid = np.zeros((length, shape[1]), np.bool_)
    valid[at] = True
    # The row behind a run in its own slot has what its seat saw next.
    open_ = np.flatnonzero(runs.tails)
    last = (runs.first + runs.lengths - 1)[open_]
    behind = (place + runs.lengths)[open_], lane[open_]
    own[behind], rows[behind] = runs.slots[last], runs.rows[last] + 1
    return Lanes(own, rows, valid)


def lane_forms(slab: Slab, lanes: Lanes) -> dict[str, Form]:
    """Shapes and dtypes of the arrays of a batch of lanes, by column."""
    length, count = lanes.valid.shape
    leads = {"T": (length,), "T+1": (length + 1,), "slot": ()}
    return {
        column.name: Form((*leads[column.rows], count, *column.shape), column.dtype)
        for column in slab.table
        if column.name not in NOT_TRAINED_ON
    }


def gather_lanes_into(arrays: Mapping[str, NDArray[Any]], slab: Slab, lanes: Lanes) -> None:
    """Copy the rows of lanes into the arrays of `lane_forms`; places without a row get zeros.

    Raises: EngineError when a run goes on with a game whose memory was not stored.
    """
    steps = slab.layout.rollout_steps
    here = lanes.slots != _NOWHERE
    seen = np.where(here, lanes.slots * (steps + 1) + lanes.rows, 0)
    acted = np.where(lanes.valid, (lanes.slots * steps + lanes.rows)[:-1], 0)
    for column in slab.table:
        array = arrays.get(column.name)
        if array is None or column.rows == "slot":
            continue
        places, good = (acted, lanes.valid) if column.rows == "T" else (seen, here)
        np.take(flat_rows(slab.column[column.name]), places, axis=0, out=array, mode="clip")
        array[~good] = 0
    arrays["mask"][~here] = True
    arrays["episode_start"][~here] = True
    if slab.layout.state_size:
        _initial_states(arrays["initial_state"], slab, lanes, arrays["episode_start"][0])


def _initial_states(
    array: NDArray[Any], slab: Slab, lanes: Lanes, fresh: NDArray[np.bool_]
) -> None:
    """The memory before row 0 of each lane: that of its slot, or none where an episode begins."""
    slots, rows = lanes.slots[0], lanes.rows[0]
    if (rows[~fresh] != 0).any():
        raise EngineError(
            "a run that goes on with a game begins in the middle of a slot, where no memory of the "
            "network was stored; a bug worth reporting"
        )
    array[...] = slab.column["initial_state"][slots]
    array[fresh] = 0.0


def gather_lanes(slab: Slab, slots: Integers, most: int | None = None) -> Batch:
    """Copy the rows of full slots into a batch of lanes on the CPU. most: see `lanes_of`."""
    lanes = lanes_of(slab, slots, most)
    arrays = {
        name: np.empty(form.shape, form.dtype) for name, form in lane_forms(slab, lanes).items()
    }
    gather_lanes_into(arrays, slab, lanes)
    return Batch.of({name: torch.from_numpy(array) for name, array in arrays.items()})
