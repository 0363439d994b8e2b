"""MinAtar's games by name, such as "minatar:breakout": five Atari games on ten by ten fields.

Young and Tian 2019, "MinAtar: an Atari-inspired testbed for thorough and reproducible reinforcement
learning experiments". The package is an optional dependency.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.envs.adapters.checked import Values, chosen
from pbt.envs.adapters.extras import extra_of
from pbt.envs.adapters.gymnasium_env import GymnasiumGame, one_seat
from pbt.envs.contract import EnvSpec
from pbt.envs.names import MINATAR, did_you_mean
from pbt.errors import EnvNameError

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
WITHOUT_CHANCE = ("space_invaders",)
"""Games that always begin and go on alike, if no action is repeated by chance."""
_EMPTY = "."


class MinAtarEnv(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """A game of MinAtar. A seat sees planes of 0 and 1, [planes, 10, 10] uint8.

    sticky_actions  chance that the action before is repeated in place of the one that was chosen
    ramping         the game gets faster as it goes on, where it does so at all
    all_actions     six actions in every game, also where some of them do nothing in it
    max_steps       after so many steps an episode is cut off
    Raises: EnvOptionsError for values that none of these can have.
    """

    def __init__(
        self,
        game: str,
        *,
        sticky_actions: float = 0.1,
        ramping: bool = True,
        all_actions: bool = False,
        max_steps: int = 5_000,
    ) -> None:
        values = Values()
        values.chance("sticky_actions", sticky_actions)
        values.switch("ramping", ramping)
        values.switch("all_actions", all_actions)
        values.whole("max_steps", max_steps, least=1)
        if game in WITHOUT_CHANCE and sticky_actions == 0.0:
            values.add("sticky_actions", sticky_actions, "above 0.0: all games are one else")
        values.check()
        self._game = _package(game).Environment(game, float(sticky_actions), ramping)
        moves = range(self._game.num_actions()) if all_actions else self._game.minimal_action_set()
        self._moves, self._max_steps = tuple(moves), max_steps
        height, width, planes = self._game.state_shape()
        self.observation_space = spaces.Box(0, 1, (planes, height, width), np.uint8)
        self.action_space = spaces.Discrete(len(self._moves))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        self._game.seed(seed)
        self._game.reset()
        # The package keeps the last action of the game before, which a sticky first one would be.
        self._game.last_action, self._steps = 0, 0
        return self._seen(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        reward, over = self._game.act(chosen(self._moves, int(action)))
        self._steps += 1
        return self._seen(), float(reward), bool(over), self._steps >= self._max_steps, {}

    def _seen(self) -> NDArray[np.uint8]:
        return np.ascontiguousarray(self._game.state().transpose(2, 0, 1), np.uint8)


def minatar_spec(name: str) -> EnvSpec:
    """The game called "minatar:NAME".

    Raises: EnvNameError for a name that MinAtar does not have.
    """
    game = name.removeprefix(MINATAR)
    if game not in GAMES:
        hint = did_you_mean(game, GAMES, MINATAR) or f"; it has {', '.join(GAMES)}"
        raise EnvNameError(f"env {name!r}: MinAtar has no game {game!r}{hint}")

    def make(**options: Any) -> GymnasiumGame:
        return GymnasiumGame(MinAtarEnv(game, **options), name)

    described = f"{game.replace('_', ' ').capitalize()} on ten by ten fields (MinAtar)"
    return replace(one_seat(name, make, described), draw=_draw)


def _package(game: str) -> Any:
    """MinAtar, which warns at its import that it cannot draw where no plotting package is."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with extra_of(MINATAR + game, "MinAtar", "minatar", "minatar"):
            return import_module("minatar")
    finally:
        logging.disable(before)


def _draw(observation: Mapping[str, NDArray[Any]], seat: int) -> str:
    """A field for each place: the number of the last of its planes, in base 36, "." for none."""
    planes = observation["observation"]
    numbers = np.arange(1, len(planes) + 1).reshape(-1, 1, 1)
    top = (planes * numbers).max(axis=0)
    marks = [_EMPTY, *"123456789abcdefghijklmnopqrstuvwxyz"]
    return "\n".join(" ".join(marks[field] for field in row) for row in top)
