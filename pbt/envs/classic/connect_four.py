"""Connect four: PettingZoo's rules, and a scripted opponent that looks one ply ahead."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.envs.classic.boards import board_text, table_maker
from pbt.envs.contract import EnvSpec, Grid, Role
from pbt.envs.native_games import NativeRules, native_or
from pbt.envs.scripted import pick

ROWS, COLUMNS, IN_A_ROW = 6, 7, 4


def _lines() -> NDArray[np.float32]:
    """[lines, cells], 1.0 where the cell belongs to the line: all 69 lines of four."""
    rows = []
    for row in range(ROWS):
        for column in range(COLUMNS):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                end_row, end_column = row + down * (IN_A_ROW - 1), column + right * (IN_A_ROW - 1)
                if end_row < ROWS and 0 <= end_column < COLUMNS:
                    line = np.zeros(ROWS * COLUMNS, np.float32)
                    line[
                        [(row + down * k) * COLUMNS + column + right * k for k in range(IN_A_ROW)]
                    ] = 1.0
                    rows.append(line)
    return np.stack(rows)


_LINES = _lines()


def _completes(pieces: NDArray[np.float32], landing: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[N, columns]: whether a piece that lands in the column completes four.

    pieces   [N, cells] of one side
    landing  [N, columns], index of the lowest empty cell of each column
    """
    threatened = (((pieces @ _LINES.T) == IN_A_ROW - 1).astype(np.float32) @ _LINES) > 0
    hit: NDArray[np.bool_] = np.take_along_axis(threatened, landing, axis=1)
    return hit


def one_ply(
    observation: Mapping[str, NDArray[Any]], mask: NDArray[np.bool_], uniforms: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Wins if it can, else blocks if it must, else plays any legal column. Returns [N, 1].

    Equal choices are equally likely.

    observation  "observation": [N, 6, 7, 2], plane 0 own pieces, plane 1 the opponent's
    mask         [N, 7]
    uniforms     [N, 1]
    """
    board = np.asarray(observation["observation"])
    own = board[..., 0].reshape(len(board), -1).astype(np.float32)
    theirs = board[..., 1].reshape(len(board), -1).astype(np.float32)
    empty_rows = (board.sum(axis=3) == 0).sum(axis=1)
    landing = np.maximum(empty_rows - 1, 0).astype(np.int64) * COLUMNS + np.arange(COLUMNS)
    wins = _completes(own, landing) & mask
    blocks = _completes(theirs, landing) & mask
    choices = np.where(
        wins.any(axis=1, keepdims=True),
        wins,
        np.where(blocks.any(axis=1, keepdims=True), blocks, mask),
    )
    return pick(choices, uniforms[:, 0])[:, None]


def draw(observation: Mapping[str, NDArray[Any]], seat: int) -> str:
    """The board with the numbers of its columns, which are the actions.

    observation  "observation": [6, 7, 2], plane 0 the seat's own pieces
    """
    return board_text(observation["observation"], seat) + "\n" + " ".join(map(str, range(COLUMNS)))


RULES = NativeRules(
    "connect_four",
    Role(
        "player",
        spaces.Box(0, 1, (ROWS, COLUMNS, 2), np.int8),
        spaces.Discrete(COLUMNS),
        masked=True,
    ),
    ("player_0", "player_1"),
)
TWIN = table_maker("connect_four", "connect_four.connect_four")
"""The same game in Python."""

SPEC = EnvSpec(
    name="connect_four",
    make=native_or(RULES, TWIN),
    chance=False,
    replayable=True,
    winners=(
        "four in a row wins, a full board is a draw (the ranking of summed rewards: +1, -1, or 0)"
    ),
    description=(
        "Connect four (PettingZoo connect_four_v3): two seats, 7 columns, perfect information"
    ),
    objective="win",
    scripted={"oneply": one_ply},
    draw=draw,
    grid=Grid(ROWS, COLUMNS, lambda column: (None, column), IN_A_ROW),
)
