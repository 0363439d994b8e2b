"""Solved positions of connect four: the file of them, and what one is.

bench/positions/connect_four.txt holds them, and `bench.position_games` has made it. A position is
critical where some legal move keeps its value with perfect play and some other loses it; so a lost
position never is. A line of the file is

    SOURCE MOVES VALUES SAMPLE

SOURCE  who played up to there: `random`, `oneply`, or `mcts100`, each against itself
MOVES   the columns played so far, 0 to 6
VALUES  what each of the seven moves is worth to the side that moves: + won, = drawn, - lost,
        . where the column is full
SAMPLE  `drawn` where the position is one of the first that were drawn, whatever it is; `critical`
        where it was taken because it is critical. Critical positions among the drawn ones count as
        both.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.connect_four_board import COLUMNS

FILE = Path(__file__).parent / "positions/connect_four.txt"
SHA256 = "9d4d01a8eff5b93169f881478cfac21e1666fa403c63c202c4e5c4d1d397ca19"
SOURCES = ("random", "oneply", "mcts100")
STONES = ((4, 11), (12, 19), (20, 27), (28, 35))
"""The strata: least and greatest number of stones."""
DRAWN, CRITICAL = "drawn", "critical"
SIGNS = {1: "+", 0: "=", -1: "-", None: "."}
_VALUES = {sign: value for value, sign in SIGNS.items()}


@dataclass(frozen=True)
class Position:
    """A position whose moves are solved.

    source  who played up to there
    moves   the columns played so far
    values  of each column for the side to move: 1, 0, -1; None where it is full
    sample  DRAWN or CRITICAL
    """

    source: str
    moves: tuple[int, ...]
    values: tuple[int | None, ...]
    sample: str

    @property
    def value(self) -> int:
        """What perfect play makes of it for the side to move: 1, 0, -1."""
        return max(value for value in self.values if value is not None)

    @property
    def keeping(self) -> tuple[int, ...]:
        """The moves that keep the value."""
        return tuple(column for column in range(COLUMNS) if self.values[column] == self.value)

    @property
    def critical(self) -> bool:
        """Whether some legal move keeps the value and some other loses it."""
        return len({value for value in self.values if value is not None}) > 1

    @property
    def stones(self) -> str:
        """Its stratum, such as "4-11"."""
        return next(f"{least}-{most}" for least, most in STONES if least <= len(self.moves) <= most)

    @property
    def line(self) -> str:
        """Its line of the file."""
        moves = "".join(map(str, self.moves))
        return f"{self.source} {moves} {''.join(SIGNS[one] for one in self.values)} {self.sample}"


def position_of(line: str) -> Position:
    """The position of a line. Raises: ValueError, KeyError where it is none."""
    source, moves, values, sample = line.split()
    if source not in SOURCES or sample not in (DRAWN, CRITICAL) or len(values) != COLUMNS:
        raise ValueError(f"{line!r} is no line of a position; see bench/positions.py")
    return Position(source, tuple(map(int, moves)), tuple(_VALUES[one] for one in values), sample)


def text_of(positions: Iterable[Position]) -> str:
    """The content of the file."""
    return "".join(f"{position.line}\n" for position in positions)


def stored_positions(file: Path = FILE, sha256: str = SHA256) -> list[Position]:
    """All positions of the file. Raises: ValueError unless it is the file with this hash."""
    content = file.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{file}: found SHA-256 {found[:12]}...; expected {sha256[:12]}...: grades of other "
            "positions do not compare; restore the file, or where it was made anew, write its "
            "hash to bench/positions.py:SHA256 and grade every player again"
        )
    return [position_of(line) for line in content.decode().splitlines()]
