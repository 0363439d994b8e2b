"""Python games as a group: they are stepped one after the other.

What a game's own code may do wrong is met here: it raises, gives useless numbers, or loses its
engine. Every such game is named in `failures`; hanging ones are named by `GameCode`.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from pbt.envs.actions import ActionSpec
from pbt.envs.contract import Action, Answering, Outcome, Overlapping, SeatTurn
from pbt.envs.groups import Decisions, Failures, Turns
from pbt.envs.numbers import rewards_problem
from pbt.errors import EnvError, NumberError
from pbt.sampling.filming import GameObserver
from pbt.sampling.game_code import GameCode
from pbt.sampling.rows import RowWriter
from pbt.sampling.table import Table

# A game that is late for longer is waited for where a hanging one is named (`env.timeout_s`).
_LATE_FOR_S = 5.0
_LOOK_EVERY_S = 0.01


class _Late(NamedTuple):
    """What a late table still has to do, and since when, on the clock of `time.monotonic`."""

    step: Callable[[], list[SeatTurn]]
    since_s: float


class LoopedGames:
    """The games of some tables. See `pbt.envs.groups.GameGroup`."""

    def __init__(
        self,
        tables: Sequence[Table],
        code: GameCode,
        writers: Sequence[RowWriter],
        observer: GameObserver,
        patience_s: float | None = None,
    ) -> None:
        """tables: by position. writers: by role.

        patience_s  for the tables of one step. Those that take longer are late; None: none is ever
        """
        self._tables, self._code, self._observer = tables, code, observer
        game = tables[0].game
        self._roles, self._terms = game.seat_roles, game.reward_terms
        self._writers = [writers[role] for role in game.seat_roles]
        self._specs = [ActionSpec.of(game.roles[role].action_space) for role in game.seat_roles]
        self._alike = len(game.roles) == 1
        self._overlapping = isinstance(game, Overlapping)
        self._turns: list[SeatTurn] = []
        self._positions: list[int] = []
        self.failures: Failures = {}
        self.replaying = False
        self.late: dict[int, _Late] = {}
        self._slow: set[int] = set()
        self._patience_s = patience_s if isinstance(game, Answering) else None

    def begin(self, positions: NDArray[np.int64]) -> Turns:
        """As `GameGroup.begin`."""
        self._clear()
        for position in positions.tolist():
            self._play(position, self._tables[position].begin, "reset")
        return self._columns()

    def step(self, positions: NDArray[np.int64], decisions: Decisions) -> Turns:
        """As `GameGroup.step`."""
        self._clear()
        moves = self._moves(decisions)
        if self._overlapping:
            for position, move in moves.items():
                cast("Overlapping", self._tables[position].game).begin(move)
        steps = {
            position: partial(self._tables[position].game.step, moves[position])
            for position in positions.tolist()
        }
        late = self._not_in_time([*steps])
        for position, step in steps.items():
            if position in late:
                self.late[position] = _Late(step, time.monotonic())
            else:
                self._play(position, step, "step")
        return self._columns()

    def _not_in_time(self, positions: list[int]) -> set[int]:
        """Those whose games are not done after some patience.

        It is for tables that were not late the last time: a slow one does not cost it every time.
        """
        if self._patience_s is None or self.replaying:
            return set()
        until_s, slow = time.monotonic() + self._patience_s, self._slow
        late = {one for one in positions if one not in slow and not self._done(one, until_s)}
        late |= {one for one in positions if one in slow and not self._done(one, 0.0)}
        self._slow = slow - {*positions} | late
        return late

    def _done(self, position: int, until_s: float) -> bool:
        """Whether a game has done its step, after waiting until this moment at most."""
        game = cast("Answering", self._tables[position].game)
        try:
            return game.answered(max(0.0, until_s - time.monotonic()))
        except Exception:  # noqa: BLE001  its step tells what is wrong, where it is met
            return True

    def resume(self, timeout_s: float) -> tuple[NDArray[np.int64], Turns]:
        """As `GameGroup.resume`. A game that was late for long is waited for, and watched so."""
        self._clear()
        until_s, come = time.monotonic() + timeout_s, self._come(0.0)
        while not come and self.late and time.monotonic() < until_s:
            come = self._come(min(until_s, time.monotonic() + _LOOK_EVERY_S))
        for position in come:
            self._play(position, self.late.pop(position).step, "step")
        return np.array(come, np.int64), self._columns()

    def _come(self, until_s: float) -> list[int]:
        """The late tables that are to be stepped now. until_s: how long one is waited for."""
        now_s, come = time.monotonic(), list[int]()
        for position in sorted(self.late):
            waited_s = now_s - self.late[position].since_s
            if waited_s > _LATE_FOR_S or self._done(position, 0.0 if come else until_s):
                come.append(position)
        return come

    def _moves(self, decisions: Decisions) -> dict[int, dict[int, Action]]:
        """By position, the actions by seat."""
        moves: dict[int, dict[int, Action]] = {}
        seats, actions = decisions.seat.tolist(), decisions.action
        if self._alike:
            listed = self._specs[0].listed(actions)
        else:
            specs = [self._specs[seat] for seat in seats]
            listed = [
                spec.listed(action[None, : spec.width])[0]
                for spec, action in zip(specs, actions, strict=True)
            ]
        for position, seat, action in zip(decisions.position.tolist(), seats, listed, strict=True):
            moves.setdefault(position, {})[seat] = action
        return moves

    def _clear(self) -> None:
        self._turns, self._positions, self.failures = [], [], {}

    def _play(self, position: int, move: Callable[[], list[SeatTurn]], call: str) -> None:
        """Call a table's game and keep its turns, or its error."""
        table = self._tables[position]
        try:
            turns = self._code.run(move, table, call)
            if not self.replaying:
                self._observer.sees(table, turns)
        except EnvError as error:
            self.failures[position] = error
            return
        if misplaced := self._misplaced(table, [turn.seat for turn in turns]):
            self.failures[position] = misplaced
            return
        for turn in turns:
            if problem := rewards_problem(self._terms, turn.rewards):
                self.failures[position] = self._named(table, turn, problem)
                return
        self._turns += turns
        self._positions += [position] * len(turns)

    def _misplaced(self, table: Table, seats: Sequence[int]) -> EnvError | None:
        """The error of turns that no seats of the game can have now; None where there is none."""
        over, of_game = table.state.seats.over, table.seats
        wrong = [seat for seat in seats if not 0 <= seat < len(of_game) or over[of_game[seat]]]
        if not wrong and len(set(seats)) == len(seats):
            return None
        playing = [number for number, seat in enumerate(of_game) if not over[seat]]
        return EnvError(
            f"{table.where}, step {table.moves}: turns for seats {list(seats)}; expected at most "
            f"one for each of the seats {playing}, whose episodes are not over; "
            "`arena env check` finds such things"
        )

    @staticmethod
    def _named(table: Table, turn: SeatTurn, problem: str) -> NumberError:
        """The error of a useless number, which says where it came from."""
        seat = f"seat {turn.seat} ({table.game.seat_names[turn.seat]})"
        return NumberError(f"{table.where}, step {table.moves}, {seat}: {problem}")

    def _columns(self) -> Turns:
        turns = self._turns
        rewards = np.array([turn.rewards for turn in turns], np.float64)
        return Turns(
            np.array(self._positions, np.int64),
            np.array([turn.seat for turn in turns], np.int64),
            rewards.reshape(len(turns), len(self._terms)),
            np.array([turn.terminated for turn in turns], np.bool_),
            np.array([turn.truncated for turn in turns], np.bool_),
            np.array([turn.tics for turn in turns], np.int64),
            np.array([turn.observation is not None for turn in turns], np.bool_),
        )

    def observe(
        self, turns: NDArray[np.int64], slots: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> list[int]:
        """As `GameGroup.observe`."""
        unseen = []
        for index, slot, row in zip(turns.tolist(), slots.tolist(), rows.tolist(), strict=True):
            turn, position = self._turns[index], self._positions[index]
            try:
                self._writers[turn.seat].observe(slot, row, turn)
            except NumberError as error:
                unseen.append(index)
                self.failures.setdefault(
                    position, self._named(self._tables[position], turn, str(error))
                )
            except EnvError as error:
                unseen.append(index)
                self.failures.setdefault(position, error)
        return unseen

    def outcomes(self, positions: NDArray[np.int64]) -> list[Outcome | EnvError]:
        """As `GameGroup.outcomes`."""
        return [self._outcome(self._tables[position]) for position in positions.tolist()]

    def _outcome(self, table: Table) -> Outcome | EnvError:
        try:
            return self._code.outcome(table)
        except EnvError as error:
            return error

    def renew(self, position: int) -> None:
        """As `GameGroup.renew`."""
        self.late.pop(position, None)
        self._slow.discard(position)
        self._code.replace(self._tables[position])
