"""Where the games of a worker come from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pbt.transport.messages import GamePlan


class GameSource(Protocol):
    """Plans the games of a worker."""

    def next_games(self, tables: Sequence[int], /) -> Sequence[GamePlan | None]:
        """The next game of each table, or None to leave the table empty for now."""

    def game_over(self, plan: GamePlan, /) -> None:
        """The game was finished or voided."""


@dataclass(frozen=True)
class GamesFrom:
    """A source that plans games by a function and need not know when a game is over."""

    next_game: Callable[[int], GamePlan | None]

    def next_games(self, tables: Sequence[int], /) -> list[GamePlan | None]:
        return [self.next_game(table) for table in tables]

    def game_over(self, plan: GamePlan, /) -> None:
        """There is nothing to do."""
