"""Filling the slots of one role: the states FREE, OPEN, PARKED and FROZEN of docs/slots.md."""

from collections import Counter
from collections.abc import Callable, Iterable

from pbt.envs.contract import SeatTurn
from pbt.envs.numbers import rewards_problem
from pbt.errors import NumberError
from pbt.sampling.rows import RowWriter
from pbt.sampling.slots import SlotPool
from pbt.sampling.table import NO_SLOT, Seat
from pbt.transport.messages import SlotFull
from pbt.transport.slab import Slab


class SlotFiller:
    """Gives seats their slots, writes their rows, and sends slots to the learners when full.

    produced  valid rows completed so far
    dropped   valid rows dropped so far, by reason

    Rows produced = rows trained + rows dropped + rows standing, here and at the learners.
    """

    def __init__(self, slab: Slab, slots: range, send: Callable[[SlotFull], None]) -> None:
        """slots: the part of the slab that belongs to this filler."""
        self.pool = SlotPool(slots)
        self.rows = RowWriter(slab)
        self._send = send
        self.produced = 0
        self.dropped: Counter[str] = Counter()

    def sit(self, seat: Seat) -> None:
        """Give a slot to a seat that starts a game: FREE or PARKED -> OPEN, or FREE -> FROZEN."""
        seat.slot, seat.row = (
            self.pool.resume(seat.policy) if seat.learning else (self.pool.take(), 0)
        )
        seat.first_row, seat.began_generation = seat.row, seat.generation
        if seat.row == 0:
            self.rows.open(seat.slot)

    def take_turn(self, seat: Seat, turn: SeatTurn) -> None:
        """Complete the pending row with the turn's consequences, then write the seat's observation.

        At t == T the slot is full once row T can be bootstrapped. A running episode then goes on in
        a fresh slot, and takes its recurrent state there.

        Raises NumberError for a number that cannot be learned from; the game is then to be voided.
        """
        if problem := rewards_problem(self.rows.reward_terms, turn.rewards):
            raise NumberError(problem)
        seat.returns += turn.rewards[0]
        seat.frames += turn.tics if seat.steps else 0
        completed, seat.pending = seat.pending, False
        if completed:
            self.rows.complete(seat.slot, seat.row, turn)
            self.produced += 1
            seat.row += 1
        if turn.over:
            seat.over = True
            if completed:
                self._close_episode(seat, turn)
            return
        self.rows.observe(seat.slot, seat.row, turn, seat.episode_start)
        if seat.row == self.rows.rollout_steps:
            full = seat.slot
            seat.slot, seat.row, seat.first_row = self.pool.take(), 0, 0
            self.rows.open(seat.slot)
            self.rows.carry_state(full, seat.slot)
            self.rows.observe(seat.slot, 0, turn, seat.episode_start)
            self._send(SlotFull(seat.role, seat.policy, seat.generation, full))

    def _close_episode(self, seat: Seat, turn: SeatTurn) -> None:
        if turn.truncated and not turn.terminated:
            self.rows.final_observation(seat.slot, seat.row, turn)
            seat.row = min(seat.row + 1, self.rows.rollout_steps)
        if seat.row == self.rows.rollout_steps:
            self._send(SlotFull(seat.role, seat.policy, seat.generation, seat.slot))
            seat.slot = NO_SLOT

    def leave(self, seat: Seat) -> None:
        """Take the slot of a seat whose game is over: OPEN -> PARKED, FROZEN -> FREE."""
        if seat.slot == NO_SLOT:
            return
        if seat.learning:
            self.pool.park(seat.policy, seat.slot, seat.row)
        else:
            self.pool.give_back(seat.slot)

    def rewind(self, seat: Seat) -> None:
        """Drop the rows of a seat's voided game that still stand here, then take its slot."""
        if seat.learning and seat.slot != NO_SLOT:
            self.dropped["voided"] += self.rows.drop(seat.slot, seat.first_row, seat.row)
            seat.row = seat.first_row
        self.leave(seat)

    def discard_parked(self, policy: int) -> None:
        """Drop the rows of a policy whose generation ended: PARKED -> FREE."""
        for slot, row in self.pool.discard_parked(policy):
            self.dropped["generation"] += self.rows.drop(slot, 0, row)

    def standing(self, seats: Iterable[Seat]) -> int:
        """Number of valid rows in PARKED slots and in those of `seats`, which are of this role."""
        places = self.pool.parked() + [
            (seat.slot, seat.row) for seat in seats if seat.learning and seat.slot != NO_SLOT
        ]
        return sum(self.rows.count_valid(slot, 0, row) for slot, row in places)

    def empty(self, seat: Seat, generation: int) -> None:
        """Drop the rows of a seat whose policy's generation ended during the game.

        Its slot starts again at row 0. A row that waits for its reward is dropped as well.
        """
        if seat.slot == NO_SLOT:
            return
        self.dropped["generation"] += self.rows.drop(seat.slot, 0, seat.row)
        if not seat.over:
            self.rows.restart(seat.slot, seat.row)
        seat.row, seat.first_row, seat.pending, seat.generation = 0, 0, False, generation
