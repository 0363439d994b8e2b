"""Connect four on integers, for programs that look at many positions: a minimax, and which
positions are the same.

A side's pieces are a number of 49 bits: a column has seven bits, of which the highest stays empty,
and the lowest is the bottom row.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

COLUMNS, ROWS = 7, 6
_BITS = ROWS + 1
# From the middle outwards: good moves first cut off more of the tree.
_ORDER = (3, 2, 4, 1, 5, 0, 6)


class Board(NamedTuple):
    """A position.

    own     pieces of the side to move
    others  pieces of the other side
    """

    own: int
    others: int

    def legal(self) -> Iterator[int]:
        """The columns that are not full, from the middle outwards."""
        filled = self.own | self.others
        return (column for column in _ORDER if not filled >> (column * _BITS + ROWS - 1) & 1)

    def after(self, column: int) -> "Board":
        """The position after a move into a column that is not full."""
        filled = self.own | self.others
        landing = (filled + (1 << column * _BITS)) & ((1 << ROWS) - 1) << column * _BITS
        return Board(self.others, self.own | landing)

    def lost(self) -> bool:
        """Whether the other side has four in a row."""
        pieces = self.others
        for step in (1, _BITS, _BITS - 1, _BITS + 1):
            pairs = pieces & pieces >> step
            if pairs & pairs >> 2 * step:
                return True
        return False

    def mirrored(self) -> "Board":
        """The position with its left and right swapped, which is worth the same."""
        return Board(_mirrored(self.own), _mirrored(self.others))


def _mirrored(pieces: int) -> int:
    column, found = (1 << _BITS) - 1, 0
    for place in range(COLUMNS):
        found |= (pieces >> place * _BITS & column) << (COLUMNS - 1 - place) * _BITS
    return found


def board_of(moves: Sequence[int]) -> Board:
    """The position after these moves. Raises: ValueError for a move that no game has."""
    board = Board(0, 0)
    for place, column in enumerate(moves):
        if board.lost() or column not in board.legal():
            raise ValueError(f"moves {list(moves)}: no game has move {place}")
        board = board.after(column)
    return board


def same_position(board: Board) -> Board:
    """One of the position and its mirror image, the same for both."""
    return min(board, board.mirrored())


def minimax(board: Board, plies: int) -> dict[int, int]:
    """The value of each legal move for the side to move: 1 won, 0 drawn or not decided, -1 lost.

    plies  how many are looked ahead, the move among them
    """
    known: dict[tuple[Board, int], int] = {}
    return {column: -_value(board.after(column), plies - 1, known) for column in board.legal()}


def _value(board: Board, plies: int, known: dict[tuple[Board, int], int]) -> int:
    """The value of a position for the side to move. known: of positions by the plies left."""
    if board.lost():
        return -1
    if plies == 0:
        return 0
    if (board, plies) in known:
        return known[board, plies]
    best = None
    for column in board.legal():
        value = -_value(board.after(column), plies - 1, known)
        best = value if best is None else max(best, value)
        if best == 1:
            break
    # A full board is drawn.
    known[board, plies] = best or 0
    return best or 0
