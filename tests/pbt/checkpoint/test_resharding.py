"""The states of all workers merge into one and split over others.

Slots get new numbers, and what stood in them goes with them.
"""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert, to_builtins
from msgspec.structs import replace

from pbt.checkpoint.resharding import Split, merge_workers, split_worker
from pbt.checkpoint.workers import load_slab, load_worker, save_slab, save_worker
from pbt.errors import EngineError
from pbt.sampling.slots import Partition
from pbt.saved import SavedFiller, SavedPool, SavedWorker
from pbt.transport.messages import SlotFull
from tests.pbt.checkpoint.cuts import empty_worker
from tests.pbt.sampling.made_up_bench import Bench, shares_of

SEAT_ROLES = [(0,), (0, 0), (0, 1), (0, 1, 1, 0)]


Queues = dict[str, list[SlotFull]]


def saved(bench: Bench) -> tuple[SavedWorker, Queues]:
    """What a checkpoint keeps of a bench at rest: workers merged, queues by policy."""
    states = [save_worker(worker) for worker in bench.workers]
    stored = json.loads(json.dumps(to_builtins(states, str_keys=True)))
    assert convert(stored, list[SavedWorker], str_keys=True) == states
    return merge_workers(states), {
        str(policy): batcher.state().queue for policy, batcher in bench.batchers.items()
    }


def resume(first: Bench, split: Split, state: SavedWorker, second: Bench) -> None:
    for role, slab in enumerate(second.slabs):
        load_slab(
            slab,
            save_slab(first.slabs[role], set(state.fillers[role].pool.free)),
            split.places[role],
        )
    for worker, part in zip(second.workers, split.workers, strict=True):
        assert load_worker(worker, part, second, replayable=True) == 0
    for policy, batcher in second.batchers.items():
        queue = split.queues[str(policy)]
        batcher.load(replace(first.batchers[policy].state(), queue=queue))
    second.counts, second.generation, second.trained = (
        list(first.counts),
        first.generation.copy(),
        first.trained,
    )


def check_places(split: Split, state: SavedWorker, queues: Queues, parts: list[Partition]) -> None:
    """Every slot that holds something has one new place.

    A table's slots lie in its own partition, and every partition knows which of its slots are free.
    """
    owner = {table: part for part in parts for table in part.tables}
    for role, places in enumerate(split.places):
        parked = [
            slot for entries in state.fillers[role].pool.parked.values() for slot, _ in entries
        ]
        seated = [
            (seat["table"], seat["slot"])
            for seat in state.seats.rows()
            if seat["role"] == role and seat["slot"] >= 0
        ]
        waiting = [full.slot for queue in queues.values() for full in queue if full.role == role]
        held = [*parked, *waiting, *(slot for _, slot in seated)]
        assert len(held) == len(set(held)) == len(places.keys() & set(held)) and len(
            set(places.values())
        ) == len(places)
        assert all(places[slot] in owner[table].slots[role] for table, slot in seated)
        taken = {places[slot] for slot in held}
        for part, worker in zip(parts, split.workers, strict=True):
            assert sorted(worker.fillers[role].pool.free) == sorted(set(part.slots[role]) - taken)


def described(state: SavedWorker, places: list[dict[int, int]] | None = None) -> Any:
    """A merged state without what may change: slot numbers, order, and which slots are free.

    places: old slot number -> new one, by which the slots are renamed.
    """

    def renamed(role: int, slot: int) -> int:
        return slot if places is None or slot < 0 else places[role][slot]

    seats = [{**s, "slot": renamed(s["role"], s["slot"])} for s in state.seats.rows()]
    fillers = [
        (
            filler.produced,
            filler.dropped,
            {
                policy: sorted([renamed(role, slot), row] for slot, row in entries)
                for policy, entries in filler.pool.parked.items()
            },
        )
        for role, filler in enumerate(state.fillers)
    ]
    waiting = sorted(zip(state.waiting.table, state.waiting.seat, strict=True))
    return state.tables, state.games, seats, fillers, waiting, sorted(state.idle)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    seat_roles=st.sampled_from(SEAT_ROLES),
    tables=st.integers(3, 14),
    before=st.integers(1, 3),
    after=st.integers(1, 3),
    turns=st.integers(0, 60),
    piecemeal=st.booleans(),
)
def test_any_number_of_workers_goes_on_where_any_other_stopped(
    seed: int,
    seat_roles: tuple[int, ...],
    tables: int,
    before: int,
    after: int,
    turns: int,
    piecemeal: bool,
) -> None:
    """The bench compares every row of the second run with what its observation says it must be.

    That includes rows whose slot was begun in the first run.
    """
    first = Bench(seed, seat_roles, tables, 4, 0.0, before, piecemeal=piecemeal)
    for _ in range(turns):
        first.turn()
    first.rest()
    state, queues = saved(first)
    parts = shares_of(tables, seat_roles, after)
    split = split_worker(state, queues, parts)
    assert not any(split.lost.values())
    if before != after:
        check_places(split, state, queues, parts)
        assert described(merge_workers(split.workers)) == described(state, split.places)
    second = Bench(seed + 1, seat_roles, tables, 4, 0.0, after, piecemeal=piecemeal)
    resume(first, split, state, second)
    assert second.unaccounted() == 0
    for _ in range(40):
        second.turn()
    assert second.unaccounted() == 0


def test_one_worker_with_the_same_slots_gets_the_state_as_it_was() -> None:
    bench = Bench(1, (0, 1), 5, 4, 0.0)
    for _ in range(30):
        bench.turn()
    state, queues = saved(bench)
    split = split_worker(state, queues, shares_of(5, (0, 1), 1))
    assert split.workers == [state] and split.queues == queues and split.lost == {}
    assert all(slot == place for places in split.places for slot, place in places.items())


def filled(parked: int, waiting: dict[str, int]) -> tuple[SavedWorker, Queues]:
    """Two empty tables of one role, PARKED slots of one policy, and queues of these lengths."""
    slots = iter(range(1000))
    pool = SavedPool([], {0: [(next(slots), 1) for _ in range(parked)]})
    filler = SavedFiller(pool, 9, {"voided": 2})
    return replace(empty_worker(2), idle=[1, 0], fillers=[filler]), {
        member: [SlotFull(0, 0, 0, next(slots)) for _ in range(count)]
        for member, count in waiting.items()
    }


def two_shares(first: int, second: int) -> list[Partition]:
    return [Partition((0,), (range(first),)), Partition((1,), (range(first, first + second),))]


def test_where_there_is_no_room_the_youngest_waiting_slots_are_lost_and_named() -> None:
    state, queues = filled(2, {"m0": 5, "m1": 2})
    split = split_worker(state, queues, two_shares(4, 3))
    assert split.lost == {"m0": [5, 6], "m1": []}
    assert [len(split.queues[member]) for member in ("m0", "m1")] == [3, 2]
    assert sum(len(part.fillers[0].pool.free) for part in split.workers) == 0
    assert [part.fillers[0].produced for part in split.workers] == [9, 0], (
        "what was counted is counted once"
    )
    assert [part.idle for part in split.workers] == [[0], [1]]


def test_parked_slots_are_spread_so_that_no_worker_has_more_than_its_tables_can_use() -> None:
    state, queues = filled(6, {})
    split = split_worker(state, queues, two_shares(9, 9))
    assert [len(part.fillers[0].pool.parked[0]) for part in split.workers] == [3, 3]


def test_games_that_find_no_room_at_all_are_refused_in_words() -> None:
    state, queues = filled(3, {})
    with pytest.raises(
        EngineError,
        match=r"holds 3 part-filled slots of role 0, too many for the \[1, 1\] there are",
    ):
        split_worker(state, queues, two_shares(1, 1))


def test_another_number_of_tables_is_refused_in_words() -> None:
    state, queues = filled(0, {})
    with pytest.raises(
        EngineError,
        match=r"the checkpoint has 2 tables; there are 3, sampling.environments must stay",
    ):
        split_worker(state, queues, [Partition((0, 1, 2), (range(9),))])


def test_a_slot_in_nobodys_hands_is_not_put_anywhere() -> None:
    bench = Bench(1, (0,), 3, 4, 0.0)
    slab = bench.slabs[0]
    slab.column["tics"][:3, 0] = (5, 6, 7)
    target = Bench(1, (0,), 3, 4, 0.0).slabs[0]
    load_slab(target, save_slab(slab, set(range(3, slab.slots))), {0: 4, 2: 1})
    assert target.column["tics"][[4, 1], 0].tolist() == [5, 7]
    assert np.count_nonzero(target.column["tics"][:, 0] != -1) == 2
