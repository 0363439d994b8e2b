"""How a game stands, as people see it: the position as text, and where an action stands on it."""

from collections.abc import Sequence

from pbt.envs.contract import EnvSpec, Game, Readable, SeatTurn
from pbt.envs.spaces import ObservationCodec

Square = tuple[int | None, int]
"""(row, column); row None: somewhere in that column."""


class GameBoard:
    """Draws the positions of one table. game: the table's, one of `spec`."""

    def __init__(self, spec: EnvSpec, game: Game) -> None:
        self._draw, self._grid, self._game = spec.draw, spec.grid, game
        self._observations = [
            ObservationCodec(game.roles[role].observation_space) for role in game.seat_roles
        ]

    @property
    def size(self) -> tuple[int, int] | None:
        """(rows, columns) of the squares that actions name; None where they name none."""
        return None if self._grid is None else (self._grid.rows, self._grid.columns)

    @property
    def in_a_row(self) -> int | None:
        """So many equal marks in a line win; None where something else does, or nothing is known
        of it.
        """
        return None if self._grid is None else self._grid.in_a_row

    def position(self, turns: Sequence[SeatTurn]) -> str | None:
        """turns: what the game said last. None where there is no board, and where nobody sees it
        any more.
        """
        if self._draw is None:
            return self._game.position() if isinstance(self._game, Readable) else None
        seen = next((turn for turn in turns if turn.observation is not None), None)
        return (
            None
            if seen is None
            else self._draw(self._observations[seen.seat].arrays(seen.observation), seen.seat)
        )

    def square(self, action: tuple[int, ...]) -> Square | None:
        return None if self._grid is None else self._grid.square(action[0])

    def action_name(self, seat: int, action: tuple[int, ...]) -> str | None:
        """In the game's own words, before it is played; None where it has none."""
        return self._game.action_name(seat, action) if isinstance(self._game, Readable) else None
