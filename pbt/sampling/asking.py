"""The seats of a worker that wait for an action, and those whose action was requested."""

from collections.abc import Sequence

import numpy as np

from pbt.errors import EngineError
from pbt.sampling.seats import Indices
from pbt.sampling.table import TableState
from pbt.transport.messages import ActionRequest, ActionsReady

_NOT_ASKED = -1


class Asking:
    """Requests actions for seats that wait, and finds the seats that an answer is for.

    outstanding  rows whose actions were requested and have not come yet
    """

    def __init__(self, state: TableState, slots: Sequence[int]) -> None:
        """slots: number of slots by role, of all workers."""
        self._state = state
        # Seats that wait, in the order in which they are asked for.
        self._waiting: list[Indices] = []
        # By role: slot -> the seat whose action was requested. Messages name slots, not seats.
        self._asked = [np.full(count, _NOT_ASKED, np.int64) for count in slots]
        self.outstanding = 0

    @property
    def waiting(self) -> Indices:
        """The seats that wait for an action, in the order in which they are asked for."""
        return np.concatenate(self._waiting) if self._waiting else np.zeros(0, np.int64)

    def wait(self, seats: Indices) -> None:
        """Let seats wait, behind those that do."""
        if len(seats):
            self._waiting.append(seats)

    def requests(self) -> list[ActionRequest]:
        """Request actions for all seats that wait: one request per (policy, role, greedy)."""
        waiting, self._waiting = self.waiting, []
        return [self._request(asking) for asking in self._alike(waiting)]

    def answered(self, ready: ActionsReady) -> Indices:
        """The seats that an answer is for, [N].

        Raises: EngineError for an answer that no seat waits for, such as one that comes twice.
        """
        asked = self._asked[ready.role]
        seats = asked[ready.slots]
        if (seats == _NOT_ASKED).any():
            slots = ready.slots[seats == _NOT_ASKED].tolist()
            raise EngineError(
                f"actions came for slots {slots} of role {ready.role}, which asked for none: they "
                "came twice, or after their game was voided; a bug worth reporting"
            )
        asked[ready.slots] = _NOT_ASKED
        self.outstanding -= len(seats)
        return seats

    def leave_out(self, position: int) -> None:
        """Forget the seats of a table whose game is voided."""
        seats = self._state.seats
        for seat in seats.of(position):
            asked, slot = self._asked[seats.role[seat]], seats.slot[seat]
            if slot >= 0 and asked[slot] == seat:
                asked[slot] = _NOT_ASKED
                self.outstanding -= 1
        waiting = self.waiting
        self._waiting = []
        self.wait(waiting[waiting // seats.per_table != position])

    def _alike(self, waiting: Indices) -> list[Indices]:
        """Seats by (policy, role, greedy), in the order in which the first of each came."""
        if not len(waiting):
            return []
        seats, greedy = self._state.seats, self._state.greedy
        keys = seats.policy[waiting] * len(self._asked) + seats.role[waiting]
        keys = 2 * keys + greedy[waiting // seats.per_table]
        if (keys == keys[0]).all():
            return [waiting]
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        ends = np.cumsum(np.bincount(which))[:-1]
        by_key = np.split(waiting[np.argsort(which, kind="stable")], ends)
        return [by_key[key] for key in np.argsort(first).tolist()]

    def _request(self, asking: Indices) -> ActionRequest:
        seats, first = self._state.seats, int(asking[0])
        role, slots = int(seats.role[first]), seats.slot[asking]
        self._asked[role][slots] = asking
        self.outstanding += len(asking)
        return ActionRequest(
            int(seats.policy[first]),
            role,
            slots,
            seats.row[asking],
            seats.key[asking],
            seats.steps[asking].astype(np.uint64),
            bool(self._state.greedy[first // seats.per_table]),
        )
