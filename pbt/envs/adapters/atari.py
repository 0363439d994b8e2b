"""Games of the Atari 2600 by name, such as "atari:breakout", in the Arcade Learning Environment.

Bellemare et al. 2013, "The Arcade Learning Environment: an evaluation platform for general agents";
Machado et al. 2018, "Revisiting the Arcade Learning Environment". The package `ale-py` has the
engine and the games; it is an optional dependency. All chance is drawn from the seed of the game:
the engine itself has none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.envs.adapters.checked import Values, chosen
from pbt.envs.adapters.extras import extra_of
from pbt.envs.adapters.gymnasium_env import GymnasiumGame, one_seat
from pbt.envs.contract import EnvSpec
from pbt.envs.names import ATARI, PETTINGZOO, did_you_mean
from pbt.errors import EnvNameError, EnvOptionsError
from pbt.seeding import generator

FRAMES_PER_S = 60.0
# The engine ends the process that loads one of these: they are played by two or more.
SEVERAL_PLAYERS: Mapping[str, str] = {
    "combat": "combat_tank_v2",
    "joust": "joust_v3",
    "maze_craze": "maze_craze_v3",
    "warlords": "warlords_v3",
}
"""Games that ale-py has and does not play -> what PettingZoo calls them."""
CLIPPING = "clipping"
"""The reward term that is the difference between the sign of a score and the score."""


@dataclass(frozen=True)
class AtariOptions:
    """How a game is played and seen.

    frame_skip      frames that an action is held; the screen is the brighter of the last two
    noops           a game begins with up to so many frames of doing nothing, drawn by its seed
    sticky_actions  chance of each frame that the action of the frame before is repeated
    all_actions     all 18 actions, also those that do nothing in this game
    life_loss       the game is over with the first life that is lost
    clip_rewards    a second reward term, CLIPPING, makes the sum of both the sign of the score
    colours         the screen is red, green and blue; else grey
    max_frames      after so many frames a game is cut off
    mode            of the cartridge's switch; None: as it begins
    difficulty      of the cartridge's switch; None: as it begins
    """

    frame_skip: int = 4
    noops: int = 30
    sticky_actions: float = 0.0
    all_actions: bool = False
    life_loss: bool = False
    clip_rewards: bool = False
    colours: bool = False
    max_frames: int = 108_000
    mode: int | None = None
    difficulty: int | None = None

    def __post_init__(self) -> None:
        """Raises: EnvOptionsError for values that none of these can have."""
        values = Values()
        values.whole("frame_skip", self.frame_skip, least=1, most=1_000)
        values.whole("noops", self.noops, least=0, most=10_000)
        values.chance("sticky_actions", self.sticky_actions)
        for name in ("all_actions", "life_loss", "clip_rewards", "colours"):
            values.switch(name, getattr(self, name))
        values.whole("max_frames", self.max_frames, least=1)
        values.check()
        if not self.noops and not self.sticky_actions:
            values.add("noops", 0, "1 or more, or sticky_actions above 0.0: all games are one else")
            values.check()


class AtariEnv(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """A game of one player. It sees the screen: [height, width, 1 or 3] uint8, mostly 210 x 160.

    Raises: EnvOptionsError for a switch that the cartridge does not have.
    """

    def __init__(self, game: str, options: AtariOptions) -> None:
        self._ale, self._options = _engine(game), options
        self._set("mode", self._ale.getAvailableModes(), self._ale.setMode)
        self._set("difficulty", self._ale.getAvailableDifficulties(), self._ale.setDifficulty)
        every, few = self._ale.getLegalActionSet(), self._ale.getMinimalActionSet()
        self._moves = tuple(move.value for move in (every if options.all_actions else few))
        self._read = self._ale.getScreenRGB if options.colours else self._ale.getScreenGrayscale
        height, width = self._ale.getScreenDims()
        shape = (height, width, 3) if options.colours else (height, width)
        self._screens = [np.zeros(shape, np.uint8) for _ in range(2)]
        self.reward_terms = (CLIPPING,) if options.clip_rewards else ()
        seen = (height, width, 3 if options.colours else 1)
        self.observation_space = spaces.Box(0, 255, seen, np.uint8)
        self.action_space = spaces.Discrete(len(self._moves))

    def _set(self, name: str, known: Any, choose: Callable[[int], None]) -> None:
        """Turn a switch of the cartridge, if the options say so."""
        value = getattr(self._options, name)
        if value is None:
            return
        if type(value) is not int or value not in list(known):
            raise EnvOptionsError(
                [f"{name} = {value!r}: expected one of {sorted(map(int, known))}"]
            )
        choose(value)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        self._rng = generator(0 if seed is None else seed, "atari")
        # Restoring a saved start would be a hundred times faster, but some games go on otherwise.
        self._ale.reset_game()
        self._frames, self._held = 0, 0
        for _ in range(int(self._rng.integers(self._options.noops + 1))):
            self._ale.act(0)
            if self._ale.game_over():
                self._ale.reset_game()
        self._lives = self._ale.lives()
        self._screens[0].fill(0)
        self._read(self._screens[1])
        return self._seen(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        options, move = self._options, chosen(self._moves, int(action))
        score, over = 0, False
        frames = min(options.frame_skip, options.max_frames - self._frames)
        for frame in range(1, frames + 1):
            if not (options.sticky_actions and self._rng.random() < options.sticky_actions):
                self._held = move
            score += self._ale.act(self._held)
            lives, self._lives = self._lives, self._ale.lives()
            over = self._ale.game_over() or (options.life_loss and self._lives < lives)
            if over or frame > frames - 2:
                self._screens.reverse()
                self._read(self._screens[1])
            if over:
                break
        self._frames += frame
        info: dict[str, Any] = {"tics": frame}
        if self.reward_terms:
            info["reward_terms"] = {CLIPPING: float(np.sign(score) - score)}
        return self._seen(), float(score), over, self._frames >= options.max_frames, info

    def _seen(self) -> NDArray[np.uint8]:
        """The brighter of the last two screens: some things are drawn in every other one only.

        Those of the last two frames of a step, where the game is not over before.
        """
        seen = np.maximum(*self._screens)
        return seen.reshape(self.observation_space.shape)


def atari_spec(name: str) -> EnvSpec:
    """The game called "atari:NAME".

    Raises: EnvNameError for a name that `ale-py` does not have, EnvError where it is not installed.
    """
    game, package = name.removeprefix(ATARI), _package(name)
    if game in SEVERAL_PLAYERS:
        other = f"{PETTINGZOO}atari/{SEVERAL_PLAYERS[game]}"
        raise EnvNameError(f"env {name!r} is played by two or more; expected {other}")
    known = [one for one in package.roms.get_all_rom_ids() if one not in SEVERAL_PLAYERS]
    if game not in known:
        hint = did_you_mean(game, known, ATARI)
        raise EnvNameError(f"env {name!r}: ale-py has no game {game!r}, of {len(known)}{hint}")

    def make(**options: Any) -> GymnasiumGame:
        return GymnasiumGame(AtariEnv(game, AtariOptions(**options)), name)

    described = f"{game.replace('_', ' ').capitalize()} (Atari 2600)"
    return replace(one_seat(name, make, described), tics_per_s=FRAMES_PER_S)


def _engine(game: str) -> Any:
    """An engine that has the game in it."""
    package = _package(ATARI + game)
    ale = package.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("random_seed", 0)
    ale.loadROM(package.roms.get_rom_path(game))
    return ale


def _package(name: str) -> Any:
    with extra_of(name, "ale-py", "ale_py", "atari"):
        import ale_py
    # The engine tells every start on standard error.
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    return ale_py
