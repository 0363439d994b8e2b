"""The game-theoretic values of connect four, by the solver of the package `bitbully`.

    pip install bitbully

The package (GNU AGPL 3; nothing of it is part of this project) brings an opening book of all
positions of twelve stones in `bitbully-databases`, so the opening takes milliseconds. The slowest
positions have 12 to 16 stones.
"""

from collections.abc import Sequence
from typing import Any

from bench.connect_four_board import COLUMNS


class Solver:
    """Solves positions. Raises: SystemExit where the package is missing."""

    def __init__(self) -> None:
        try:
            import bitbully
        except ModuleNotFoundError as error:
            raise SystemExit(
                "the solver of connect four is not installed; `pip install bitbully` adds it"
            ) from error
        self._board: Any = bitbully.Board
        self._solver: Any = bitbully.BitBully()

    def values(self, moves: Sequence[int]) -> tuple[int | None, ...]:
        """The value of each column for the side to move: 1 won, 0 drawn, -1 lost; None where full.

        moves  the columns played so far; the game is not over
        """
        scores = self._solver.score_all_moves(self._board.from_moves(list(moves)))
        return tuple(
            (scores[column] > 0) - (scores[column] < 0) if column in scores else None
            for column in range(COLUMNS)
        )

    def best(self, moves: Sequence[int]) -> int:
        """The column that wins soonest, or loses latest, nearest to the middle."""
        return int(self._solver.best_move(self._board.from_moves(list(moves))))
