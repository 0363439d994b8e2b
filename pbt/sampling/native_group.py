"""Games in C as a group: one call steps all of its tables."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pbt.envs.contract import Outcome, SeatTurn
from pbt.envs.groups import Decisions, Failures, GameGroup, Turns
from pbt.envs.native_games import (
    FORBIDDEN,
    NativeRules,
    NativeTables,
    forbidden,
    native_rules,
    shown,
)
from pbt.errors import EngineError, EnvError
from pbt.sampling.filming import GameObserver
from pbt.sampling.game_code import GameCode
from pbt.sampling.looped_games import LoopedGames
from pbt.sampling.rows import RowWriter
from pbt.sampling.table import Table


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
        self.replaying = False
        self.late: tuple[int, ...] = ()
        if not (self._seen.flags.c_contiguous and self._mask.flags.c_contiguous):
            raise EngineError("columns of a slab are not contiguous; a bug worth reporting")

    def begin(self, positions: NDArray[np.int64]) -> Turns:
        """As `GameGroup.begin`."""
        seeds = np.array([self._tables[position].plan.seed for position in positions.tolist()])
        return self._told(self._called(positions, lambda: self._games.begin(positions, seeds)))

    def step(self, positions: NDArray[np.int64], decisions: Decisions) -> Turns:
        """As `GameGroup.step`."""
        tables, seats, chosen = decisions.position, decisions.seat, decisions.action[:, 0]
        turns = self._called(positions, lambda: self._games.step(tables, seats, chosen))
        if (turns.seat == FORBIDDEN).any():
            turns = self._without_forbidden(turns, decisions)
        return self._told(turns)

    def resume(self, timeout_s: float) -> tuple[NDArray[np.int64], Turns]:
        """As `GameGroup.resume`. These games play in this process, so none is ever late."""
        raise EngineError("a table in C was waited for; a bug worth reporting")

    def _called(self, positions: NDArray[np.int64], call: Callable[[], Turns]) -> Turns:
        """Call the games' code as that of the first table."""
        self.failures = {}
        first = self._tables[int(positions[0]) if len(positions) else 0]
        return self._code.call(call, first.index)

    def _told(self, turns: Turns) -> Turns:
        """Keep the turns, and show them to the observer if it looks."""
        self._turns = turns
        if not self.replaying and self._observer.looks:
            self._show()
        return turns

    def _without_forbidden(self, turns: Turns, decisions: Decisions) -> Turns:
        """The turns of games that go on; the others stand in `failures`."""
        for position in turns.position[turns.seat == FORBIDDEN].tolist():
            at = int(np.flatnonzero(decisions.position == position)[0])
            seat, action = int(decisions.seat[at]), int(decisions.action[at, 0])
            where = self._tables[position].where
            self.failures[position] = forbidden(self._rules, seat, action, where)
        kept = turns.seat != FORBIDDEN
        return Turns(*(column[kept] for column in turns))

    def _show(self) -> None:
        """Show the observer what every table's seats see."""
        form = self._seen.shape[2:], self._seen.dtype
        turns = shown(self._games, self._turns, form, self._mask_size)
        by_table: dict[int, list[SeatTurn]] = {}
        for position, turn in zip(self._turns.position.tolist(), turns, strict=True):
            by_table.setdefault(position, []).append(turn)
        for position, own in by_table.items():
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
        """As `GameGroup.renew`. There is nothing to do: `begin` writes the whole table anew."""


def group_of(
    tables: Sequence[Table],
    code: GameCode,
    writers: Sequence[RowWriter],
    observer: GameObserver,
    patience_s: float | None = None,
) -> GameGroup:
    """The group that plays the games of these tables.

    writers     by role
    patience_s  see `LoopedGames`
    """
    rules = native_rules(tables[0].game)
    if rules is not None and all(native_rules(table.game) is rules for table in tables):
        return NativeGroup(tables, rules, code, writers[0], observer)
    return LoopedGames(tables, code, writers, observer, patience_s)
