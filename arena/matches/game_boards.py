"""Positions of a game for people: the board as text, and the square that an action names."""

from collections.abc import Sequence

from pbt.envs.contract import Action, EnvSpec, Game, Readable, SeatTurn
from pbt.envs.spaces import ObservationCodec

Square = tuple[int | None, int]
"""(row, column); the row is None where an action names a whole column."""


class GameBoard:
    """Draws the positions of one table.

    spec  the environment
    game  the table's own game, made by `spec`
    """

    def __init__(self, spec: EnvSpec, game: Game) -> None:
        self._draw, self._grid, self._game = spec.draw, spec.grid, game
        self._observations = [
            ObservationCodec(game.roles[role].observation_space) for role in game.seat_roles
        ]

    @property
    def size(self) -> tuple[int, int] | None:
        """(rows, columns) of the squares that actions name; None where actions name none."""
        return None if self._grid is None else (self._grid.rows, self._grid.columns)

    @property
    def in_a_row(self) -> int | None:
        """How many equal marks in a line win; None where the game does not say so."""
        return None if self._grid is None else self._grid.in_a_row

    def position(self, turns: Sequence[SeatTurn]) -> str | None:
        """The board as text. turns: the game's newest ones.

        None where the game has no board, and where no seat observes it any more.
        """
        if self._draw is None:
            return self._game.position() if isinstance(self._game, Readable) else None
        for turn in turns:
            if turn.observation is not None:
                return self._draw(self._observations[turn.seat].arrays(turn.observation), turn.seat)
        return None

    def square(self, action: Action) -> Square | None:
        """Where the action stands on the board; None where actions name no squares."""
        return None if self._grid is None else self._grid.square(action[0])

    def action_name(self, seat: int, action: Action) -> str | None:
        """The game's own name of an action that is not played yet; None where it has none."""
        return self._game.action_name(seat, action) if isinstance(self._game, Readable) else None
