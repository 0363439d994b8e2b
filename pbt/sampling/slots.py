"""A worker's partition of tables and slots, and its pool of one role's slots.

The pool holds the slots in the states FREE and PARKED (docs/slots.md).
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from pbt.errors import EngineError
from pbt.saved import SavedPool


@dataclass(frozen=True)
class Partition:
    """The part of a run's tables and slots that belongs to one worker.

    tables  their numbers in the whole run
    slots   a range of slots for every role
    """

    tables: tuple[int, ...]
    slots: tuple[range, ...]

    @classmethod
    def whole(cls, tables: int, slots: Sequence[int]) -> "Partition":
        """The partition that holds all. slots: number of slots in every role's slab."""
        return cls(tuple(range(tables)), tuple(range(count) for count in slots))


class SlotPool:
    """The FREE and PARKED slots of a range of one role's slots.

    OPEN, FULL and FROZEN slots are not in the pool; their owners give them back.
    """

    def __init__(self, slots: range) -> None:
        self._free = list(reversed(slots))
        self._parked: dict[int, deque[tuple[int, int]]] = defaultdict(deque)

    @property
    def free(self) -> int:
        """Number of FREE slots."""
        return len(self._free)

    def take(self) -> int:
        """A FREE slot. Raises EngineError when there is none, because the slab is too small."""
        if not self._free:
            raise EngineError(
                "no free slot left: the slab is smaller than live seats, parked slots and "
                "waiting batches need"
            )
        return self._free.pop()

    def resume(self, policy: int) -> tuple[int, int]:
        """(slot, row) at which a policy's next seat goes on.

        That is the policy's oldest PARKED slot, or else a FREE one at row 0.
        """
        parked = self._parked.get(policy)
        if parked:
            return parked.popleft()
        return self.take(), 0

    def park(self, policy: int, slot: int, row: int) -> None:
        """Keep a part-filled slot for the policy's next seat; an empty one becomes FREE."""
        if row == 0:
            self.give_back(slot)
        else:
            self._parked[policy].append((slot, row))

    def give_back(self, slot: int) -> None:
        self._free.append(slot)

    def take_parked(self) -> list[tuple[int, int]]:
        """(policy, slot) of every PARKED slot; the caller owns them."""
        taken = [(policy, slot) for policy, own in self._parked.items() for slot, _ in own]
        self._parked.clear()
        return taken

    def discard_parked(self, policy: int) -> list[tuple[int, int]]:
        """Free every PARKED slot of a policy; returns (slot, rows written) of each."""
        discarded = list(self._parked.pop(policy, ()))
        for slot, _ in discarded:
            self.give_back(slot)
        return discarded

    def parked(self) -> list[tuple[int, int]]:
        """(slot, rows written) of every PARKED slot."""
        return [entry for entries in self._parked.values() for entry in entries]

    def state(self) -> SavedPool:
        parked = {policy: list(entries) for policy, entries in self._parked.items() if entries}
        return SavedPool(list(self._free), parked)

    def load(self, state: SavedPool) -> None:
        self._free = list(state.free)
        self._parked.clear()
        for policy, entries in state.parked.items():
            self._parked[policy] = deque(entries)
