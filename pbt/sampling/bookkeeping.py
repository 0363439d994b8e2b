"""What a worker notes of its seats when they learn something, are answered, or act.

`Bookkeeping` is the reference. Its twin in C (pbt/native/bookkeeping.c) does the same in one call
for all seats, and plays where it was built.
"""

import ctypes
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pbt.envs.groups import Turns
from pbt.errors import EngineError
from pbt.native import bookkeeping
from pbt.sampling.rows import RowWriter
from pbt.sampling.seats import Indices
from pbt.sampling.table import TableState


class Taken(NamedTuple):
    """What follows from turns. Turns are indices into those that were taken.

    going     [K] turns of seats that go on
    slots     [K] where what they see is to be written
    rows      [K]
    full      turns of seats whose slots are full, once all is written
    cut       turns that truncate an episode: their final observation is to be written
    waiting   seats that wait for an action of their player
    opening   seats that wait for an action of the game's opening
    ended     positions of tables where no seat is due, as they were given
    produced  [roles] rows that were completed
    """

    going: Indices
    slots: Indices
    rows: Indices
    full: Indices
    cut: Indices
    waiting: Indices
    opening: Indices
    ended: Indices
    produced: Indices


class Bookkeeping:
    """The reference, in numpy."""

    def __init__(self, state: TableState, rows: Sequence[RowWriter]) -> None:
        """rows: by role."""
        self._state, self._seats, self._rows = state, state.seats, rows

    def take(self, turns: Turns, positions: Indices) -> Taken:
        """Complete the rows of seats, and find what is due next.

        positions: the tables that were begun or stepped
        """
        state, seats = self._state, self._seats
        own = turns.position * seats.per_table + turns.seat
        completed = self._complete(turns, own)
        cut = completed & turns.truncated & ~turns.terminated
        # The row behind a truncated episode is yet to be written.
        behind = np.minimum(seats.row[own] + cut, self._rows[0].rollout_steps)
        over = turns.over
        seats.over[own[over]] = True
        going = np.flatnonzero(~over)
        goes_on = own[going]
        slots, rows = seats.slot[goes_on], seats.row[goes_on]
        for role, writer in enumerate(self._rows):
            of_role = seats.role[goes_on] == role
            at = slots[of_role], rows[of_role]
            writer.begin_row(*at, seats.episode_start[goes_on[of_role]])
        seats.due[goes_on] = True
        tables = turns.position[going]
        state.due[positions] = np.bincount(tables, minlength=len(state.due))[positions]
        state.came[positions] = 0
        opens = state.moves[tables] < state.opening[tables]
        return Taken(
            going,
            slots,
            rows,
            np.flatnonzero(completed & (behind == self._rows[0].rollout_steps)),
            np.flatnonzero(cut),
            goes_on[~opens],
            goes_on[opens],
            positions[state.due[positions] == 0],
            np.bincount(seats.role[own[completed]], minlength=len(self._rows)),
        )

    def without(self, wrong: Collection[int], taken: Taken, positions: Indices) -> Taken:
        """Nothing is due any more at tables whose games went wrong: they have ended.

        positions: as `take` was given them
        """
        state, seats, spoiled = self._state, self._seats, np.array(list(wrong), np.int64)
        state.due[spoiled] = 0
        seats.due[seats.at(spoiled)] = False
        waiting, opening = (
            own[~np.isin(own // seats.per_table, spoiled)] for own in (taken.waiting, taken.opening)
        )
        ended = positions[state.due[positions] == 0]
        return taken._replace(waiting=waiting, opening=opening, ended=ended)

    def _complete(self, turns: Turns, own: Indices) -> NDArray[np.bool_]:
        """Write the consequences of pending rows. Returns which of the turns had one, [N]."""
        seats = self._seats
        seats.returns[own] += turns.rewards[:, 0]
        seats.frames[own] += np.where(seats.steps[own] > 0, turns.tics, 0)
        completed = seats.pending[own]
        seats.pending[own] = False
        for role, writer in enumerate(self._rows):
            of = np.flatnonzero(completed & (seats.role[own] == role))
            done, ends = own[of], (turns.terminated[of], turns.truncated[of])
            at = seats.slot[done], seats.row[done]
            writer.complete(*at, turns.rewards[of], *ends, turns.tics[of])
            seats.row[done] += 1
        return completed

    def note_begun_move(self, position: int) -> None:
        """Add the actions of a move that is not complete to the history: they were decided."""
        seats = self._seats
        own = np.array(seats.of(position))
        own = own[seats.chosen[own]]
        seats.chosen[own] = False
        numbers = own - position * seats.per_table
        self._state.history.add(np.full(len(own), position), numbers, seats.action[own])

    def answered(self, own: Indices, version: int, weights: int) -> Indices:
        """Note that weights of this version and digest have answered for seats of one role.

        Their rows are acted on. Returns the seats that were answered by another digest before.
        """
        seats = self._seats
        writer = self._rows[seats.role[own[0]]] if len(own) else self._rows[0]
        writer.fingerprint(seats.slot[own], seats.row[own], self._state.origins(own))
        first = own[~seats.acted[own]]
        seats.version_start[first], seats.acted[first] = version, True
        seats.version_end[own] = version
        changed: Indices = own[seats.weights[own] != weights]
        seats.weights[own] = weights
        seats.pending[own] = seats.learning[own]
        seats.episode_start[own] = False
        return changed

    def act(self, own: Indices) -> Indices:
        """Note that seats have chosen. Returns the tables that have all of their actions.

        They stand in the order in which their last actions do.
        """
        state, positions = self._state, own // self._seats.per_table
        self._seats.chosen[own] = True
        self._seats.steps[own] += 1
        np.add.at(state.steps, positions, 1)
        np.add.at(state.came, positions, 1)
        complete = positions[state.came[positions] == state.due[positions]]
        _, last = np.unique(complete[::-1], return_index=True)
        in_order: Indices = complete[np.sort(len(complete) - 1 - last)]
        return in_order

    def decide(self, positions: Indices) -> tuple[Indices, Indices]:
        """Begin a move of tables: (table, seat) of each seat that acts in it, table by table."""
        seats, per_table = self._seats, self._seats.per_table
        table, seat = np.nonzero(seats.due.reshape(-1, per_table)[positions])
        tables = positions[table]
        own = tables * per_table + seat
        seats.due[own], seats.chosen[own] = False, False
        self._state.moves[positions] += 1
        return tables, own


def books_of(state: TableState, rows: Sequence[RowWriter]) -> Bookkeeping:
    """The bookkeeping of a worker: in C where it was built."""
    return Bookkeeping(state, rows) if bookkeeping() is None else NativeBookkeeping(state, rows)


# --- in C -----------------------------------------------------------------------------------------

_ROWS = ("rewards", "tics", "origin", "terminated", "truncated", "valid", "episode_start")
_SEATS = (
    *("role", "slot", "row", "steps", "frames", "version_start", "version_end", "weights"),
    *("returns", "learning", "pending", "episode_start", "over", "acted", "due", "chosen"),
)
_TABLES = ("due", "came", "steps", "moves", "opening", "count", "number")
_TURNS = np.int64, np.int64, np.float64, np.bool_, np.bool_, np.int64
_LISTS = ("going", "slots", "rows", "full", "cut", "waiting", "opening", "ended", "produced")


class _Rows(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in _ROWS),
        ("steps", ctypes.c_int64),
    ]


class _Books(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in _SEATS),
        *((f"table_{name}", ctypes.c_void_p) for name in _TABLES),
        ("per_table", ctypes.c_int64),
        ("terms", ctypes.c_int64),
        ("roles", ctypes.c_void_p),
    ]


class _Lists(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in _LISTS]


class NativeBookkeeping(Bookkeeping):
    """The same in C. Columns stay where they are: the code in C knows their addresses."""

    def __init__(self, state: TableState, rows: Sequence[RowWriter]) -> None:
        super().__init__(state, rows)
        code, seats = bookkeeping(), state.seats
        assert code is not None, "the caller asks"
        self._code = code
        self._roles = (_Rows * len(rows))(*map(_rows_of, rows))
        self._books = _Books(
            *(_address(getattr(seats, name)) for name in _SEATS),
            *(_address(getattr(state, name)) for name in _TABLES),
            seats.per_table,
            len(rows[0].reward_terms),
            ctypes.addressof(self._roles),
        )
        self._at = ctypes.addressof(self._books)
        # The room for what a call finds is kept; what is given out is a copy.
        room = max(len(seats.role), len(rows))
        self._lists = [np.zeros(room, np.int64) for _ in _LISTS]
        self._out = _Lists(*map(_address, self._lists))
        self._counts = np.zeros(6, np.int64)
        self._to = ctypes.addressof(self._out), _address(self._counts)
        self._first, self._second = (_address(column) for column in self._lists[:2])

    def take(self, turns: Turns, positions: Indices) -> Taken:
        """See Bookkeeping. Raises: EngineError for more turns than there are seats."""
        if len(turns.seat) > len(self._seats.role):
            raise EngineError(
                f"{len(turns.seat)} turns of {len(self._seats.role)} seats; a bug worth reporting"
            )
        held: list[NDArray[Any]] = [
            np.ascontiguousarray(column, kind)
            for column, kind in zip(turns[:-1], _TURNS, strict=True)
        ]
        tables = np.ascontiguousarray(positions, np.int64)
        produced = self._lists[-1]
        produced[: len(self._rows)] = 0
        given = [column.ctypes.data for column in held]
        self._code.take(
            self._at, len(turns.seat), *given, len(tables), tables.ctypes.data, *self._to
        )
        going, full, cut, waiting, opening, ended = self._counts.tolist()
        counts = going, going, going, full, cut, waiting, opening, ended, len(self._rows)
        return Taken(*(one[:n].copy() for one, n in zip(self._lists, counts, strict=True)))

    def answered(self, own: Indices, version: int, weights: int) -> Indices:
        """See Bookkeeping."""
        seats = np.ascontiguousarray(own, np.int64)
        given = len(seats), seats.ctypes.data, version, weights, self._first
        return self._lists[0][: self._code.answered(self._at, *given)].copy()

    def act(self, own: Indices) -> Indices:
        """See Bookkeeping."""
        seats = np.ascontiguousarray(own, np.int64)
        found = self._code.act(self._at, len(seats), seats.ctypes.data, self._first)
        return self._lists[0][:found].copy()

    def decide(self, positions: Indices) -> tuple[Indices, Indices]:
        """See Bookkeeping."""
        tables = np.ascontiguousarray(positions, np.int64)
        given = len(tables), tables.ctypes.data, self._first, self._second
        found = self._code.decide(self._at, *given)
        return self._lists[0][:found].copy(), self._lists[1][:found].copy()


def _rows_of(writer: RowWriter) -> _Rows:
    return _Rows(*(_address(writer.column[name]) for name in _ROWS), writer.rollout_steps)


def _address(column: NDArray[Any]) -> int:
    assert column.flags.c_contiguous, "columns are whole arrays"
    return column.ctypes.data
