"""Known games of PettingZoo and Gymnasium, each built when it is asked for."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.envs.adapters.gymnasium_env import GymnasiumGame, one_seat
from pbt.envs.classic.boards import board_text, table_maker
from pbt.envs.contract import EnvSpec, Game, Grid, Role
from pbt.envs.native_games import NativeRules, native_or

_WIN_DRAW_LOSS = "the game's +1, -1 or 0 (the ranking of summed rewards)"
_CHIPS = "a player who gains chips wins (the ranking of summed rewards)"


def _draw_tictactoe(observation: Mapping[str, NDArray[Any]], seat: int) -> str:
    """The board, whose squares the game numbers down the columns; the numbers are the actions.

    observation  "observation": [3, 3, 2], columns first
    """
    return board_text(observation["observation"].swapaxes(0, 1), seat)


def _make_cartpole(**options: Any) -> Game:
    return GymnasiumGame(
        gymnasium.make("CartPole-v1", disable_env_checker=True, **options), "cartpole"
    )


TICTACTOE_RULES = NativeRules(
    "tictactoe",
    Role("player", spaces.Box(0, 1, (3, 3, 2), np.int8), spaces.Discrete(9), masked=True),
    ("player_1", "player_2"),
)
TICTACTOE_TWIN = table_maker("tictactoe", "tictactoe.tictactoe")
"""The same game in Python."""

TICTACTOE = EnvSpec(
    name="tictactoe",
    make=native_or(TICTACTOE_RULES, TICTACTOE_TWIN),
    chance=False,
    replayable=True,
    winners=_WIN_DRAW_LOSS,
    description="Tic-tac-toe (PettingZoo tictactoe_v3)",
    objective="win",
    draw=_draw_tictactoe,
    grid=Grid(3, 3, lambda square: (square % 3, square // 3), 3),
)
LEDUC_HOLDEM = EnvSpec(
    "leduc_holdem",
    table_maker("leduc_holdem", "rlcard_envs.leduc_holdem"),
    True,
    True,
    _CHIPS,
    "Leduc hold'em poker, 6 cards (PettingZoo leduc_holdem_v4)",
    objective="margin",
)
TEXAS_HOLDEM = EnvSpec(
    "texas_holdem",
    table_maker("texas_holdem", "rlcard_envs.texas_holdem"),
    True,
    True,
    _CHIPS,
    "Limit Texas hold'em poker (PettingZoo texas_holdem_v4)",
    objective="margin",
)
CARTPOLE = one_seat("cartpole", _make_cartpole, "Pole balancing (Gymnasium CartPole-v1)")
