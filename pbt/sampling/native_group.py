"""Games in C as a group: one call steps all of its tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.contract import Outcome
from pbt.envs.groups import Failures, GameGroup, Turns
from pbt.envs.native_games import NativeRules, NativeTables, forbidden, native_rules, shown
from pbt.errors import EnvError
from pbt.sampling.filming import GameObserver
from pbt.sampling.game_code import GameCode
from pbt.sampling.looped_games import LoopedGames
from pbt.sampling.rows import RowWriter
from pbt.sampling.table import Table

_FORBIDDEN = -1


class NativeGroup:
    """The games of some tables. See `pbt.envs.groups.GameGroup`."""

    def __init__(
        self,
        tables: Sequence[Table],
        rules: NativeRules,
        code: GameCode,
        writer: RowWriter,
        observer: GameObserver,
    ) -> None:
        """tables: by position. writer: of the role."""
        self._tables, self._rules, self._code = tables, rules, code
        self._games = NativeTables(rules, len(tables))
        self._observer, self._mask_size = observer, writer.mask.shape[-1]
        (self._seen,) = writer.observations
        self._mask, self._rows = writer.mask, writer.mask.shape[1]
        self._columns = self._seen.ctypes.data, self._mask.ctypes.data
        self._turns: Turns
        self.failures: Failures = {}

    def begin(self, positions: NDArray[np.int64]) -> Turns:
        """As `GameGroup.begin`."""
        seeds = np.array([self._tables[position].plan.seed for position in positions.tolist()])
        return self._told(positions, lambda: self._games.begin(positions, seeds))

    def step(
        self,
        positions: NDArray[np.int64],
        tables: NDArray[np.int64],
        seats: NDArray[np.int64],
        actions: NDArray[Any],
    ) -> Turns:
        """As `GameGroup.step`."""
        chosen = actions[:, 0]
        turns = self._told(positions, lambda: self._games.step(tables, seats, chosen))
        if (turns.seat == _FORBIDDEN).any():
            return self._without_forbidden(turns, tables, seats, chosen)
        return turns

    def _told(self, positions: NDArray[np.int64], call: Any) -> Turns:
        """Call the games' code as that of the first table."""
        self.failures = {}
        self._turns = self._code.call(call, self._tables[int(positions[0])].index)
        if self._observer.looks:
            self._show()
        return self._turns

    def _without_forbidden(
        self,
        turns: Turns,
        tables: NDArray[np.int64],
        seats: NDArray[np.int64],
        chosen: NDArray[Any],
    ) -> Turns:
        for position in turns.position[turns.seat == _FORBIDDEN].tolist():
            at = int(np.flatnonzero(tables == position)[0])
            text = forbidden(self._rules, int(seats[at]), int(chosen[at]))
            self.failures[position] = EnvError(text)
        kept = turns.seat != _FORBIDDEN
        self._turns = Turns(*(column[kept] for column in turns))
        return self._turns

    def _show(self) -> None:
        """Show the observer what every table's seats see."""
        form = self._seen.shape[2:], self._seen.dtype
        turns = shown(self._games, self._turns, form, self._mask_size)
        positions = self._turns.position.tolist()
        for position in dict.fromkeys(positions):
            own = [turn for at, turn in zip(positions, turns, strict=True) if at == position]
            self._observer.sees(self._tables[position], own)

    def observe(
        self, turns: NDArray[np.int64], slots: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> list[int]:
        """As `GameGroup.observe`."""
        position, seat = self._turns.position[turns], self._turns.seat[turns]
        self._games.observe(position, seat, slots * self._rows + rows, *self._columns)
        return []

    def outcomes(self, positions: NDArray[np.int64]) -> list[Outcome | EnvError]:
        """As `GameGroup.outcomes`."""
        return [*self._games.outcomes(positions)]

    def renew(self, position: int) -> None:
        """As `GameGroup.renew`; the next `begin` overwrites what went wrong."""


def group_of(
    tables: Sequence[Table],
    code: GameCode,
    writers: Sequence[RowWriter],
    observer: GameObserver,
) -> GameGroup:
    """The group that plays the games of these tables. writers: by role."""
    rules = native_rules(tables[0].game)
    if rules is not None:
        return NativeGroup(tables, rules, code, writers[0], observer)
    return LoopedGames(tables, code, writers, observer)
