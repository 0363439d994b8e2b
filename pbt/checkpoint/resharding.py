"""Resharding: the states of all workers merge into one, which splits over any number of workers.

The merged state is that of a single worker which played at all tables.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from pbt.checkpoint.workers import Places
from pbt.errors import EngineError
from pbt.sampling.slots import Partition
from pbt.sampling.table import NO_SLOT
from pbt.transport.messages import JsonState

_Queues = Mapping[str, Sequence[Sequence[int]]]


class Split(NamedTuple):
    """A merged state, divided.

    workers  the state that the worker of each partition loads
    queues   the members' queues, slots under their new numbers
    places   by role, the new number of each slot
    lost     by member, the slots (old numbers) of the youngest entries of the queues, for which
             there was no room
    """

    workers: list[JsonState]
    queues: dict[str, list[list[int]]]
    places: list[Places]
    lost: dict[str, list[int]]


def merge_workers(states: Sequence[JsonState]) -> JsonState:
    """Return the states of all workers of a run as that of one with all tables and all slots."""
    tables = {
        number: table
        for state in states
        for number, table in zip(state["numbers"], state["tables"], strict=True)
    }
    return {
        "tables": [tables[number] for number in sorted(tables)],
        "idle": [number for state in states for number in state["idle"]],
        "levels": [entry for state in states for entry in state.get("levels", ())],
        # Entries of equal policies stay apart: workers keep frozen players at different indices.
        "waiting": [entry for state in states for entry in state["waiting"]],
        "fillers": [
            _merge_fillers(fillers)
            for fillers in zip(*(state["fillers"] for state in states), strict=True)
        ],
    }


def _merge_fillers(fillers: Sequence[JsonState]) -> JsonState:
    parked: dict[str, list[list[int]]] = {}
    for filler in fillers:
        for policy, entries in filler["pool"]["parked"].items():
            parked.setdefault(policy, []).extend(list(entry) for entry in entries)
    free = [slot for filler in fillers for slot in filler["pool"]["free"]]
    dropped = sum((Counter[str](filler["dropped"]) for filler in fillers), Counter[str]())
    return {
        "pool": {"free": free, "parked": parked},
        "produced": sum(filler["produced"] for filler in fillers),
        "dropped": dict(dropped),
    }


def split_worker(state: JsonState, queues: _Queues, shares: Sequence[Partition]) -> Split:
    """Divide a merged state over partitions of tables and slots.

    queues: by member, the SlotFull messages of slots that wait for their batch, as lists.

    A table's open slots go to its partition; PARKED and waiting ones are spread. One partition of
    exactly the state's slots gets the state as it is. Raises: EngineError when the tables differ,
    or when there is no room for the OPEN and PARKED slots.
    """
    numbers = sorted(number for share in shares for number in share.tables)
    if numbers != list(range(len(state["tables"]))):
        raise EngineError(
            f"the checkpoint has {len(state['tables'])} tables; there are {len(numbers)}, "
            "sampling.environments must stay what it was"
        )
    spread = [
        Spread(role, filler, state["tables"], queues, shares)
        for role, filler in enumerate(state["fillers"])
    ]
    if len(shares) == 1 and all(part.same for part in spread):
        places = [{slot: slot for slot in part.slots} for part in spread]
        return Split(
            [{**state, "numbers": numbers}],
            {member: [list(full) for full in queue] for member, queue in queues.items()},
            places,
            {},
        )
    for part in spread:
        part.place_all()
    places = [part.places for part in spread]
    workers = [_part(state, share, index, spread) for index, share in enumerate(shares)]
    moved, lost = _moved_queues(queues, places)
    return Split(workers, moved, places, lost)


def _moved_queues(
    queues: _Queues, places: Sequence[Places]
) -> tuple[dict[str, list[list[int]]], dict[str, list[int]]]:
    """Return the queues under new slot numbers, and the slots that found no place."""
    moved, lost = dict[str, list[list[int]]](), dict[str, list[int]]()
    for member, queue in queues.items():
        moved[member] = [
            [*full[:-1], places[full[0]][full[-1]]] for full in queue if full[-1] in places[full[0]]
        ]
        lost[member] = [full[-1] for full in queue if full[-1] not in places[full[0]]]
    return moved, lost


def _part(state: JsonState, share: Partition, index: int, spread: "Sequence[Spread]") -> JsonState:
    """Return a partition's part of a merged state. index: of the partition."""
    own = set(share.tables)
    waiting = [
        [*key, [entry for entry in asking if entry[0] in own]] for *key, asking in state["waiting"]
    ]
    return {
        "numbers": list(share.tables),
        "tables": [_moved(state["tables"][number], spread) for number in share.tables],
        "idle": [number for number in state["idle"] if number in own],
        "levels": [entry for entry in state.get("levels", ()) if entry[0] in own],
        "waiting": [entry for entry in waiting if entry[-1]],
        "fillers": [part.filler(index) for part in spread],
    }


def _moved(table: JsonState | None, spread: "Sequence[Spread]") -> JsonState | None:
    """Return a saved table with its seats' slots under their new numbers."""
    if table is None:
        return None
    seats = [
        seat
        if seat["slot"] == NO_SLOT
        else seat | {"slot": spread[seat["role"]].places[seat["slot"]]}
        for seat in table["seats"]
    ]
    return {**table, "seats": seats}


class Spread:
    """Gives the slots of one role their places in the partitions.

    slots   old numbers of all slots of the state
    places  old number -> new number, of the slots that have been placed
    """

    def __init__(
        self,
        role: int,
        filler: JsonState,
        tables: Sequence[JsonState | None],
        queues: _Queues,
        shares: Sequence[Partition],
    ) -> None:
        self._role, self._filler, self._shares = role, filler, shares
        self._open = [
            (number, seat["slot"])
            for number, table in enumerate(tables)
            if table
            for seat in table["seats"]
            if seat["role"] == role and seat["slot"] != NO_SLOT
        ]
        # The oldest of every queue first.
        self._waiting = [
            full[-1]
            for fulls in zip_longest(*queues.values())
            for full in fulls
            if full and full[0] == role
        ]
        parked = [slot for entries in filler["pool"]["parked"].values() for slot, _ in entries]
        self.slots = sorted(
            [*filler["pool"]["free"], *(slot for _, slot in self._open), *parked, *self._waiting]
        )
        self.places: Places = {}
        self._free = [list(reversed(share.slots[role])) for share in shares]
        self._parked: list[dict[str, list[list[int]]]] = [{} for _ in shares]

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
        for policy, entries in self._filler["pool"]["parked"].items():
            for slot, row in entries:
                index = self._least_parked(policy)
                self._place(slot, index)
                self._parked[index].setdefault(policy, []).append([self.places[slot], row])
        for slot in self._waiting:
            roomiest = max(range(len(self._shares)), key=lambda index: len(self._free[index]))
            if self._free[roomiest]:
                self._place(slot, roomiest)

    def _least_parked(self, policy: str) -> int:
        """Return the partition with room that has the fewest PARKED slots of the policy per table.

        No worker ever parks more of them than it has seats.
        """
        roomy = [index for index, free in enumerate(self._free) if free] or [0]
        return min(
            roomy,
            key=lambda index: (
                len(self._parked[index].get(policy, ())) / max(1, len(self._shares[index].tables))
            ),
        )

    def _place(self, slot: int, index: int) -> None:
        if not self._free[index]:
            room = [len(share.slots[self._role]) for share in self._shares]
            used = len(self._open) + sum(
                len(entries) for entries in self._filler["pool"]["parked"].values()
            )
            raise EngineError(
                f"the checkpoint holds {used} part-filled slots of role {self._role}, too "
                f"many for the {room} there are"
            )
        self.places[slot] = self._free[index].pop()

    def filler(self, index: int) -> JsonState:
        """Return a partition's part; the counts so far all go to the first one."""
        counted: JsonState = self._filler if index == 0 else {"produced": 0, "dropped": {}}
        pool = {"free": self._free[index], "parked": self._parked[index]}
        return {"pool": pool, "produced": counted["produced"], "dropped": dict(counted["dropped"])}
