"""MinAtar's breakout as a game of a file: 10 x 10 fields, four planes, one point for each brick.

Young and Tian (2019, "MinAtar: an Atari-inspired testbed"). It needs
`pip install --no-deps MinAtar`. Actions are sticky with 10 %, as the package has them. An episode
is cut off after 5 000 steps.
"""

from typing import Any

import gymnasium
import minatar
import numpy as np
from gymnasium import spaces

LONGEST = 5_000


class Breakout(gymnasium.Env[Any, Any]):
    observation_space = spaces.Box(0, 1, (4, 10, 10), np.uint8)
    action_space = spaces.Discrete(3)

    def __init__(self) -> None:
        self._game = minatar.Environment("breakout")
        self._moves = self._game.minimal_action_set()

    def _seen(self) -> Any:
        return np.ascontiguousarray(self._game.state().transpose(2, 0, 1), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        # The package seeds by numbers of 32 bits.
        self._game.seed(None if seed is None else seed % (1 << 32))
        self._game.reset()
        # The package keeps the last action of the game before, which a sticky first one would be.
        self._game.last_action, self._left = 0, LONGEST
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward, over = self._game.act(self._moves[int(action)])
        self._left -= 1
        return self._seen(), float(reward), bool(over), self._left == 0, {}


def make() -> Breakout:
    return Breakout()
