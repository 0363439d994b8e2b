"""What PettingZoo's classic games share: how a table is made, and positions as text."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.adapters.pettingzoo_aec import PettingZooAEC
from pbt.envs.contract import Game

MARKS = ".XO"


def table_maker(name: str, module: str) -> Callable[..., Game]:
    """The function that builds a table of a classic game, whose module is loaded at the first call.

    Its options go to the `raw_env` of the module: PettingZoo's wrappers only guard against illegal
    moves, which masks rule out.

    name    used in error messages
    module  within `pettingzoo.classic`
    """

    def make(**options: Any) -> Game:
        raw_env = import_module(f"pettingzoo.classic.{module}").raw_env
        return PettingZooAEC(raw_env(**options), name)

    return make


def board_text(planes: NDArray[Any], seat: int) -> str:
    """One line per row: X for the pieces of seat 0, O for those of seat 1.

    planes  [rows, columns, 2]: plane 0 the pieces of `seat`, plane 1 those of the other
    """
    first, second = planes[..., seat], planes[..., 1 - seat]
    return "\n".join(
        " ".join(MARKS[cell] for cell in row) for row in np.where(first, 1, np.where(second, 2, 0))
    )
