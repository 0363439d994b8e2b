"""Resharding: the states of all workers merge into one, which splits over any number of workers.

The merged state is that of a single worker which played at all tables.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from msgspec.structs import replace

from pbt.checkpoint.workers import Places
from pbt.errors import EngineError
from pbt.sampling.seats import NO_SLOT
from pbt.sampling.slots import Partition
from pbt.saved import (
    GameColumns,
    SavedFiller,
    SavedPool,
    SavedWorker,
    SeatColumns,
    TableColumns,
    WaitingColumns,
)
from pbt.transport.messages import SlotFull

_Queues = Mapping[str, Sequence[SlotFull]]


class Split(NamedTuple):
    """A merged state, divided.

    workers  the state that the worker of each partition loads
    queues   the members' queues, slots under their new numbers
    places   by role, the new number of each slot
    lost     by member, the slots (old numbers) of the youngest entries of the queues, for which
             there was no room
    """

    workers: list[SavedWorker]
    queues: dict[str, list[SlotFull]]
    places: list[Places]
    lost: dict[str, list[int]]


def merge_workers(states: Sequence[SavedWorker]) -> SavedWorker:
    """Return the states of all workers of a run as that of one with all tables and all slots."""
    return SavedWorker(
        tables=TableColumns.joined([state.tables for state in states]).by_table(),
        games=GameColumns.joined([state.games for state in states]).by_table(),
        seats=SeatColumns.joined([state.seats for state in states]).by_table(),
        waiting=WaitingColumns.joined([state.waiting for state in states]),
        idle=[number for state in states for number in state.idle],
        fillers=[
            _merge_fillers(fillers)
            for fillers in zip(*(state.fillers for state in states), strict=True)
        ],
    )


def _merge_fillers(fillers: Sequence[SavedFiller]) -> SavedFiller:
    parked: dict[int, list[tuple[int, int]]] = {}
    for filler in fillers:
        for policy, entries in filler.pool.parked.items():
            parked.setdefault(policy, []).extend(entries)
    free = [slot for filler in fillers for slot in filler.pool.free]
    dropped = sum((Counter(filler.dropped) for filler in fillers), Counter[str]())
    produced = sum(filler.produced for filler in fillers)
    return SavedFiller(SavedPool(free, parked), produced, dict(dropped))


def split_worker(state: SavedWorker, queues: _Queues, shares: Sequence[Partition]) -> Split:
    """Divide a merged state over partitions of tables and slots.

    queues: by member, the slots that wait for their batch.

    A table's open slots go to its partition; PARKED and waiting ones are spread. One partition of
    exactly the state's slots gets the state as it is. Raises: EngineError when the tables differ,
    or when there is no room for the OPEN and PARKED slots.
    """
    numbers = sorted(number for share in shares for number in share.tables)
    if numbers != state.tables.table:
        raise EngineError(
            f"the checkpoint has {len(state.tables.table)} tables; there are {len(numbers)}, "
            "sampling.environments must stay what it was"
        )
    spread = [
        Spread(role, filler.pool, state.seats, queues, shares)
        for role, filler in enumerate(state.fillers)
    ]
    if len(shares) == 1 and all(part.same for part in spread):
        places = [{slot: slot for slot in part.slots} for part in spread]
        return Split([state], {member: list(own) for member, own in queues.items()}, places, {})
    for part in spread:
        part.place_all()
    places = [part.places for part in spread]
    workers = [_part(state, share, index, spread) for index, share in enumerate(shares)]
    moved, lost = _moved_queues(queues, places)
    return Split(workers, moved, places, lost)


def _moved_queues(
    queues: _Queues, places: Sequence[Places]
) -> tuple[dict[str, list[SlotFull]], dict[str, list[int]]]:
    """Return the queues under new slot numbers, and the slots that found no place."""
    moved, lost = dict[str, list[SlotFull]](), dict[str, list[int]]()
    for member, queue in queues.items():
        moved[member] = [
            full._replace(slot=places[full.role][full.slot])
            for full in queue
            if full.slot in places[full.role]
        ]
        lost[member] = [full.slot for full in queue if full.slot not in places[full.role]]
    return moved, lost


def _part(
    state: SavedWorker, share: Partition, index: int, spread: "Sequence[Spread]"
) -> SavedWorker:
    """Return a partition's part of a merged state. index: of the partition."""
    own, seats = set(share.tables), state.seats.at(set(share.tables))
    slots = [
        slot if slot == NO_SLOT else spread[role].places[slot]
        for role, slot in zip(seats.role, seats.slot, strict=True)
    ]
    # The counts so far all go to the first partition.
    counted = state.fillers if index == 0 else [SavedFiller(part.pool, 0, {}) for part in spread]
    return SavedWorker(
        tables=state.tables.at(own),
        games=state.games.at(own),
        seats=replace(seats, slot=slots),
        waiting=state.waiting.at(own),
        idle=[number for number in state.idle if number in own],
        fillers=[
            replace(filler, pool=part.pools[index])
            for filler, part in zip(counted, spread, strict=True)
        ],
    )


class Spread:
    """Gives the slots of one role their places in the partitions.

    pool    of the state
    slots   old numbers of all slots of the state
    places  old number -> new number, of the slots that have been placed
    pools   by partition
    """

    def __init__(
        self,
        role: int,
        pool: SavedPool,
        seats: SeatColumns,
        queues: _Queues,
        shares: Sequence[Partition],
    ) -> None:
        self._role, self.pool, self._shares = role, pool, shares
        self._open = [
            (table, slot)
            for table, of, slot in zip(seats.table, seats.role, seats.slot, strict=True)
            if of == role and slot != NO_SLOT
        ]
        # The oldest of every queue first.
        self._waiting = [
            full.slot
            for fulls in zip_longest(*queues.values())
            for full in fulls
            if full and full.role == role
        ]
        self._parked = [slot for entries in pool.parked.values() for slot, _ in entries]
        opened = (slot for _, slot in self._open)
        self.slots = sorted([*pool.free, *opened, *self._parked, *self._waiting])
        self.places: Places = {}
        self.pools = [SavedPool(list(reversed(share.slots[role])), {}) for share in shares]

    @property
    def same(self) -> bool:
        """Whether the first partition has exactly the slots of the state."""
        return self.slots == list(self._shares[0].slots[self._role])

    def place_all(self) -> None:
        """Place OPEN slots with their tables, then PARKED and waiting ones where there is room."""
        owner = {
            number: index for index, share in enumerate(self._shares) for number in share.tables
        }
        for number, slot in self._open:
            self._place(slot, owner[number])
        for policy, entries in self.pool.parked.items():
            for slot, row in entries:
                index = self._least_parked(policy)
                self._place(slot, index)
                parked = self.pools[index].parked.setdefault(policy, [])
                parked.append((self.places[slot], row))
        for slot in self._waiting:
            roomiest = max(range(len(self.pools)), key=lambda index: len(self.pools[index].free))
            if self.pools[roomiest].free:
                self._place(slot, roomiest)

    def _least_parked(self, policy: int) -> int:
        """Return the partition with room that has the fewest PARKED slots of the policy per table.

        No worker ever parks more of them than it has seats.
        """
        roomy = [index for index, pool in enumerate(self.pools) if pool.free] or [0]
        return min(
            roomy,
            key=lambda index: (
                len(self.pools[index].parked.get(policy, ()))
                / max(1, len(self._shares[index].tables))
            ),
        )

    def _place(self, slot: int, index: int) -> None:
        if not self.pools[index].free:
            room = [len(share.slots[self._role]) for share in self._shares]
            used = len(self._open) + len(self._parked)
            raise EngineError(
                f"the checkpoint holds {used} part-filled slots of role {self._role}, too "
                f"many for the {room} there are"
            )
        self.places[slot] = self.pools[index].free.pop()
