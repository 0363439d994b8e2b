"""Filling the slots of one role: the states FREE, OPEN, PARKED and FROZEN of docs/slots.md."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pbt.envs.groups import Turns
from pbt.sampling.bookkeeping import Taken
from pbt.sampling.rows import RowWriter
from pbt.sampling.seats import NO_SLOT, Indices, Seats
from pbt.sampling.slots import SlotPool
from pbt.transport.messages import SlotFull
from pbt.transport.slab import Slab

Observe = Callable[[Indices, Indices, Indices], list[int]]
"""`pbt.envs.groups.GameGroup.observe`."""


class SlotFiller:
    """Gives seats their slots, writes their rows, and hands slots over when they are full.

    produced  valid rows completed so far
    dropped   valid rows dropped so far, by reason

    Rows produced = rows trained + rows dropped + rows standing, here and at the learners.
    """

    def __init__(self, slab: Slab, slots: range, role: int, seats: Seats) -> None:
        """slots: the part of the slab that belongs to this filler."""
        self.pool = SlotPool(slots)
        self.rows = RowWriter(slab)
        self._role, self._seats = role, seats
        self.produced = 0
        self.dropped: Counter[str] = Counter()

    def sit(self, seats: Indices) -> None:
        """Give a slot to seats that start a game: FREE or PARKED -> OPEN, or FREE -> FROZEN."""
        if not len(seats):
            return
        state, pool = self._seats, self.pool
        players = zip(state.policy[seats].tolist(), state.learning[seats].tolist(), strict=True)
        places = [pool.resume(policy) if learns else (pool.take(), 0) for policy, learns in players]
        state.slot[seats], state.row[seats] = zip(*places, strict=True)
        state.first_row[seats] = state.row[seats]
        self.rows.open(np.array([slot for slot, row in places if row == 0], np.int64))

    def close_episodes(self, turns: Turns, cut: Indices, seats: Indices, see: Observe) -> list[int]:
        """Write the final observations of truncated episodes behind their rows.

        cut    [N] the turns that truncate one
        seats  [N] the seat of each, all of this role
        Returns the turns that could not be written.
        """
        state, rows, seen = self._seats, self.rows, turns.seen[cut]
        slots, last = state.slot[seats], state.row[seats]
        rows.repeat_last(slots[~seen], last[~seen])
        unseen = see(cut[seen], slots[seen], last[seen])
        rows.close_row(slots, last)
        state.row[seats] = np.minimum(last + 1, rows.rollout_steps)
        return unseen

    def hand_over(self, seats: Indices) -> list[SlotFull]:
        """Hand over the full slots of these seats: OPEN -> FULL.

        At t == T a slot is full once row T can be bootstrapped. A running episode then goes on in a
        fresh slot, and takes its recurrent state there.
        """
        if not len(seats):
            return []
        state = self._seats
        columns = state.policy[seats], state.generation[seats], state.slot[seats]
        messages = [
            SlotFull(self._role, *row)
            for row in zip(*(column.tolist() for column in columns), strict=True)
        ]
        over = state.over[seats]
        running = seats[~over]
        state.slot[seats[over]] = NO_SLOT
        if len(running):
            fresh = np.array([self.pool.take() for _ in running], np.int64)
            self.rows.go_on(state.slot[running], state.row[running], fresh)
            state.slot[running], state.row[running], state.first_row[running] = fresh, 0, 0
        return messages

    def cut(self, seats: Indices, generations: Mapping[int, int]) -> list[SlotFull]:
        """Hand over every row at the end of a rollout: OPEN, PARKED -> FULL.

        Games go on in fresh slots. A row that waits for its reward is not kept, since other weights
        will act behind it; what its seat saw there bootstraps the rows before.

        seats        of this role, at tables that play
        generations  of the policies, by index
        """
        state = self._seats
        own = seats[state.learning[seats] & (state.slot[seats] != NO_SLOT)]
        empty = state.row[own] == 0
        begun = own[empty & state.pending[own]]
        self.rows.forget(state.slot[begun])
        messages = [
            SlotFull(self._role, policy, generations[policy], slot)
            for policy, slot in self.pool.take_parked()
        ]
        messages += self.hand_over(own[~empty])
        state.pending[own] = False
        return messages

    def leave(self, seats: Indices) -> None:
        """Take the slots of seats whose games are over: OPEN -> PARKED, FROZEN -> FREE."""
        state = self._seats
        columns = state.slot[seats], state.learning[seats], state.policy[seats], state.row[seats]
        for slot, learns, policy, row in zip(*(one.tolist() for one in columns), strict=True):
            if slot != NO_SLOT and learns:
                self.pool.park(policy, slot, row)
            elif slot != NO_SLOT:
                self.pool.give_back(slot)
        state.slot[seats] = NO_SLOT

    def rewind(self, seat: int) -> None:
        """Drop the rows of a seat's voided game that still stand here, then take its slot."""
        state = self._seats
        if state.learning[seat] and state.slot[seat] != NO_SLOT:
            first, row = int(state.first_row[seat]), int(state.row[seat])
            self.dropped["voided"] += self.rows.drop(int(state.slot[seat]), first, row)
            state.row[seat] = first
        self.leave(np.array([seat], np.int64))

    def discard_parked(self, policy: int) -> None:
        """Drop the rows of a policy whose generation ended: PARKED -> FREE."""
        for slot, row in self.pool.discard_parked(policy):
            self.dropped["generation"] += self.rows.drop(slot, 0, row)

    def standing(self, seats: Indices) -> int:
        """Number of valid rows in PARKED slots and in those of `seats`, which are of this role."""
        state = self._seats
        own = seats[state.learning[seats] & (state.slot[seats] != NO_SLOT)]
        parked = np.array(self.pool.parked(), np.int64).reshape(-1, 2)
        slots = np.concatenate([parked[:, 0], state.slot[own]])
        return self.rows.count_valid(slots, np.concatenate([parked[:, 1], state.row[own]]))

    def empty(self, seat: int, generation: int) -> None:
        """Drop the rows of a seat whose policy's generation ended during the game.

        Its slot starts again at row 0. A row that waits for its reward is dropped as well.
        """
        state, slot, row = self._seats, int(self._seats.slot[seat]), int(self._seats.row[seat])
        if slot == NO_SLOT:
            return
        self.dropped["generation"] += self.rows.drop(slot, 0, row)
        if not state.over[seat]:
            self.rows.restart(slot, row)
        state.row[seat], state.first_row[seat], state.pending[seat] = 0, 0, False
        state.generation[seat] = generation


def fill_slots(
    fillers: Sequence[SlotFiller], state: Seats, turns: Turns, taken: Taken, see: Observe
) -> list[SlotFull]:
    """Write what seats see into the slots of all roles. Returns the full ones, in their order.

    A game with a turn that could not be written is voided, so it hands nothing over.

    fillers  by role
    taken    what followed from the turns
    see      writes observations
    """
    seats = turns.position * state.per_table + turns.seat
    unseen = list[int]()
    if len(taken.cut):
        for role, filler in enumerate(fillers):
            cut = taken.cut[state.role[seats[taken.cut]] == role]
            unseen += filler.close_episodes(turns, cut, seats[cut], see)
    unseen += see(taken.going, taken.slots, taken.rows)
    full = taken.full
    if unseen and len(full):
        full = full[~np.isin(turns.position[full], turns.position[unseen])]
    if not len(full):
        return []
    filled: list[tuple[int, SlotFull]] = []
    for role, filler in enumerate(fillers):
        own = full[state.role[seats[full]] == role]
        filled += zip(own.tolist(), filler.hand_over(seats[own]), strict=True)
    return [slot for _, slot in sorted(filled, key=lambda one: one[0])]
