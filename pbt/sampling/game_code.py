"""Calls of games' own code, which may raise, hang, or lose the engine behind the game.

Whatever a game raises becomes an EnvError that names the game. The worker voids such a game and
gives its table a new one; the same error again and again ends the run.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pbt.envs.contract import Game, Outcome
from pbt.envs.groups import Failures
from pbt.errors import EnvCrash, EnvError
from pbt.sampling.game_errors import MAX_CRASHES, error_text, raising_line
from pbt.sampling.reproductions import Reproductions
from pbt.sampling.table import Table

T = TypeVar("T")

# What `on_game_code` gets when no game's code runs.
NO_TABLE = -1
LONG_SHARE = 0.1
"""The share of `env.max_decisions` after which a game is named while it is played."""


class GameCode:
    """Makes games, calls them, and counts their errors."""

    def __init__(
        self,
        make_game: Callable[[], Game],
        equal_errors: int,
        on_error: Callable[[str, str], None] | None,
        on_game_code: Callable[[int], None] | None,
        max_decisions: int,
        on_long_game: Callable[[str], None] | None,
        reproductions: Reproductions | None,
    ) -> None:
        """See RolloutWorker."""
        self._make_game, self._on_error, self._on_game_code = make_game, on_error, on_game_code
        self._equal_errors, self._errors = equal_errors, Counter[str]()
        self._reproductions = reproductions
        self._max_decisions, self._on_long_game = max_decisions, on_long_game
        # A game with so many decisions is looked at by `length_error`.
        self.patience = math.ceil(max_decisions * LONG_SHARE)

    def make(self, number: int) -> Game:
        """A new game for the table of this number."""
        return self.call(self._make_game, number)

    def run(self, ask: Callable[[], T], table: Table, call: str) -> T:
        """Call a table's game. Raises EnvError, which names the game, for all that the game raises.

        call: name of the method, for the message.
        """
        try:
            return self.call(ask, table.index)
        except EnvError:
            raise
        except (Exception, SystemExit) as error:
            raise EnvError(
                f"{table.where} raised {type(error).__name__} in {call}() after "
                f"{table.steps} decisions: {error}"
            ) from error

    def call(self, ask: Callable[[], T], number: int) -> T:
        """Call code of the game at a table, and tell `on_game_code` before and after."""
        if self._on_game_code is None:
            return ask()
        self._on_game_code(number)
        try:
            return ask()
        finally:
            self._on_game_code(NO_TABLE)

    def outcome(self, table: Table) -> Outcome:
        """The outcome of a table's game. Raises EnvError when it does not fit the seats."""
        if table.steps == 0:
            raise EnvError(
                f"{table.where} was over before any seat could decide anything; a game needs "
                "at least one decision"
            )
        outcome = self.run(table.game.outcome, table, "outcome")
        table.crashes = 0
        if len(outcome.ranking) != len(table.seats) or len(outcome.points or table.seats) != len(
            table.seats
        ):
            raise EnvError(
                f"outcome() ranks {len(outcome.ranking)} seats; expected {len(table.seats)}, "
                "with points for all or for none"
            )
        if not all(map(math.isfinite, outcome.points or ())):
            raise EnvError(
                f"outcome() of {table.where} gives points {outcome.points}; expected finite numbers"
            )
        if table.curriculum is not None:
            self.run(table.note_level, table, "next_level")
        return outcome

    def endless(
        self, tables: Sequence[Table], positions: NDArray[np.int64], steps: NDArray[np.int64]
    ) -> Failures:
        """The errors of games that do not end. positions, steps: [N], of tables to be stepped."""
        errors = Failures()
        if (steps >= self.patience).any():
            for position, taken in zip(positions.tolist(), steps.tolist(), strict=True):
                error = self.length_error(tables[position]) if taken >= self.patience else None
                if error is not None:
                    errors[position] = error
        return errors

    def length_error(self, table: Table) -> EnvError | None:
        """The error of a game that does not end; the first one that may not end is told of."""
        most = self._max_decisions
        if table.steps >= most:
            return EnvError(
                f"{table.where} did not end within {most} decisions; end it, or raise "
                "env.max_decisions"
            )
        self.patience = most
        if self._on_long_game is not None:
            self._on_long_game(
                f"{table.where} goes on after {table.steps} decisions; a game counts as endless "
                f"and is voided at env.max_decisions = {most}"
            )
        return None

    def note(self, table: Table, error: EnvError) -> str:
        """Count an error of a table's game. Raises EnvError when it must end the run.

        Returns where its game was kept, in words that follow those of the error.

        An engine that ends is excused MAX_CRASHES times. Every other error goes to `on_error`; if
        there is none, errors of equal places are counted here, and the last one allowed is raised.
        """
        if isinstance(error, EnvCrash) and table.crashes < MAX_CRASHES:
            table.crashes += 1
            return ""
        kept = None
        if self._reproductions is not None and not isinstance(error, EnvCrash):
            kept = self._reproductions.keep(table, error)
        place, text = raising_line(error), error_text(error)
        if kept is not None:
            text += f"\nplay it again: arena env replay {kept}"
        if self._on_error is not None:
            self._on_error(place, text)
        else:
            self._errors[place] += 1
            if self._errors[place] >= self._equal_errors:
                raise EnvError(text) from error
        return f"; `arena env replay` plays {kept.name} in the folder of logs again" if kept else ""

    def replace(self, table: Table) -> None:
        """Give a table a new game in place of a spoiled one."""
        # A spoiled game may raise once more when it is closed; its table has done with it.
        with suppress(Exception):
            self.call(table.game.close, table.index)
        table.game = self.make(table.index)
