"""One player in a Doom scenario."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces

from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn
from pbt.envs.doom.buttons import heads_of, one_head_of, turn_values
from pbt.envs.doom.engine import load_vizdoom, start_engine
from pbt.envs.doom.held_weapon import HELD_VARIABLES, HeldWeapon
from pbt.envs.doom.machine import machine_problems
from pbt.envs.doom.options import (
    OWN_RESIZE,
    TICS_PER_S,
    DoomOptions,
    named_paths,
    read_options,
)
from pbt.envs.doom.scene import configure_scene, known, scene_starts
from pbt.envs.doom.screen import ScreenSampler
from pbt.envs.doom.strays import remove_strays
from pbt.envs.doom.variables import LARGEST, scaled, scales
from pbt.errors import EnvCrash, EnvError, EnvOptionsError

T = TypeVar("T")

_CHANNELS = 3
# Some scenarios have millions of actions.
_REMEMBERED_ACTIONS = 4096
# A game without an end would hold up its table, and a training that waits for its last games.
_LONGEST_TICS = 21_000
# The engine keeps how far the weapon in the player's hand swings, over the end of a game: sixteen
# pixels at most. With every frame that it draws it adds one, or takes one off, towards the swing of
# the moment; a player who stands still has none.
_MOST_SWING = 16


class DoomGame:
    """One seat and one engine, which is started before the first game.

    An observation is {"screen": [height, width, 3] uint8, "variables": [n] float32, scaled to about
    1}; without variables it is the screen alone. Doom shows nothing after the last tic, so there is
    no final observation, and a change of a variable in that tic is not seen.

    Raises: EnvCrash when the engine ends. The game is lost then, and the table goes on.
    """

    def __init__(self, options: DoomOptions) -> None:
        vizdoom = load_vizdoom()
        self._options, self._vizdoom = options, vizdoom
        self._engine: Any = None
        # The player has held a weapon in this game.
        self._armed = False
        # How far the weapon may swing that the engine drew last, in pixels.
        self._swing = 0
        described = vizdoom.DoomGame()
        self._configure(described)
        buttons = [button.name for button in described.get_available_buttons()]
        if not buttons:
            raise EnvError(
                f"scenario {options.scenario!r} names no available_buttons; expected at "
                "least one in its .cfg file"
            )
        grouped = heads_of if options.actions == "heads" else one_head_of
        self._heads = grouped(buttons, turn_values(options.turns, options.turn_limit))
        self._pressed = lru_cache(_REMEMBERED_ACTIONS)(self._heads.pressed)
        self._idle = [0.0] * len(buttons)
        self._weapon = vizdoom.GameVariable.SELECTED_WEAPON
        self._variables = tuple(described.get_available_game_variables())
        self._scales = scales([variable.name for variable in self._variables])
        seen = (options.height, options.width)
        self._sampler = ScreenSampler(options.screen_size, seen, _CHANNELS)
        known_variable = vizdoom.GameVariable
        self._terms = [
            (getattr(known_variable, term.variable), term.gain, term.loss) for term in options.terms
        ]
        self._held = HeldWeapon(options.terms)
        self._hand = [getattr(known_variable, name) for name in HELD_VARIABLES]
        self._points = getattr(known_variable, options.points.upper()) if options.points else None
        player = Role("player", self._space(), action_space(self._heads.sizes))
        self.roles: tuple[Role, ...] = (player,)
        self.seat_names: tuple[str, ...] = ("player",)
        self.seat_roles: tuple[int, ...] = (0,)
        self.reward_terms: tuple[str, ...] = ("reward", *(term.name for term in options.terms))

    def machine_problems(self, tables: int) -> list[str]:
        """See `contract.Needing`."""
        return machine_problems(tables, 1, self._options.screen_size)

    def prepare(self) -> None:
        """Start the engine. `reset` tries again after a crash."""
        if self._engine is None:
            with suppress(EnvCrash):
                self._engine = start_engine(self._configure)

    def reset(self, seed: int) -> list[SeatTurn]:
        """Start an episode, which the seed decides."""
        if self._engine is None:
            self._engine, self._swing = start_engine(self._configure), 0
        elif self._swing:
            self._ask(self._forget)
        self._ask(lambda engine: engine.set_seed(seed))
        self._ask(lambda engine: engine.new_episode())
        self._tic = self._ask(lambda engine: engine.get_episode_time())
        self._armed = self._ask(self._holds_weapon)
        self._measured = self._measure()
        self._held.drop()
        return [SeatTurn(0, self._see(), None, (0.0,) * len(self.reward_terms), tics=0)]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        """Hold the buttons for `frame_skip` tics, fewer where the episode ends."""
        engine, pressed = self._engine, self._pressed(actions[0])
        try:
            reward = engine.make_action(pressed, self._options.frame_skip)
            over = engine.is_episode_finished()
            # The clock of a map that is over stands at 0; all tics of the last step count then.
            tics = engine.get_episode_time() - self._tic
            tics = self._options.frame_skip if over and tics <= 0 else tics
            self._armed = self._armed or self._holds_weapon(engine)
            self._swing = min(self._swing + self._armed, _MOST_SWING)
        except Exception as error:
            raise self._crashed(error) from error
        self._tic += tics
        rewards = (reward, *self._shaping()) if self._terms else (reward,)
        if not over:
            return [SeatTurn(0, self._see(), None, rewards, tics=tics)]
        # A player that dies at the last tic has died: that is no timeout.
        dead = self._ask(lambda engine: engine.is_player_dead())
        timeout = not dead and self._ask(lambda engine: engine.is_episode_timeout_reached())
        truncated = timeout and self._options.timeout == "truncated"
        self._reason = "timeout" if timeout else "died" if dead else "rules"
        return [SeatTurn(0, None, None, rewards, not truncated, truncated, tics)]

    def outcome(self) -> Outcome:
        """The ranking (0,), since there is one seat; points as the options say."""
        return Outcome((0,), self.points_now(), self._reason)

    def points_now(self) -> tuple[float, ...] | None:
        """The game's count so far; None where the options name no variable that counts."""
        if self._points is None:
            return None
        return (float(self._ask(lambda engine: engine.get_game_variable(self._points))),)

    def _holds_weapon(self, engine: Any) -> bool:
        return bool(engine.get_game_variable(self._weapon) >= 0)

    def _forget(self, engine: Any) -> None:
        """Show the engine frames without a swing of the weapon, of a game that is thrown away.

        Else the first screens of the next game would depend on how the last one ended.
        """
        start = engine.get_episode_start_time()
        # The tics before a game's start are not drawn.
        engine.set_episode_start_time(1)
        engine.new_episode()
        while self._swing:
            if engine.is_episode_finished():
                engine.new_episode()
            engine.make_action(self._idle, 1)
            self._swing -= 1
        engine.set_episode_start_time(start)

    def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _configure(self, game: Any) -> None:
        """Set everything but start the engine.

        Raises: EnvError when ViZDoom refuses the scenario; EnvOptionsError where one player cannot
        play it alone.
        """
        options = self._options
        configure_scene(game, options)
        if (starts := scene_starts(game)) is not None and not starts.players:
            # The engine would end within its start, and this process with it.
            place = f"{Path(options.scenario).stem} {game.get_doom_map()}"
            problem = f"scenario: {place} has no place for a single player to appear"
            advice = "say another map, or env.name = 'doom_match'"
            raise EnvOptionsError([f"{problem}; {advice}"])
        if options.max_tics is not None or not game.get_episode_timeout():
            game.set_episode_timeout(options.max_tics or _LONGEST_TICS)
        if options.variables is not None:
            game.set_available_game_variables(
                [getattr(self._vizdoom.GameVariable, name.upper()) for name in options.variables]
            )

    def _space(self) -> spaces.Space[Any]:
        screen = spaces.Box(0, 255, self._sampler.shape, np.uint8)
        if not self._variables:
            return screen
        variables = spaces.Box(-LARGEST, LARGEST, (len(self._variables),), np.float32)
        return spaces.Dict({"screen": screen, "variables": variables})

    def _see(self) -> Any:
        state = self._ask(lambda engine: engine.get_state())
        screen = self._sampler.sample(state.screen_buffer)
        if not self._variables:
            return screen
        return {"screen": screen, "variables": scaled(state.game_variables, self._scales)}

    def _measure(self) -> list[float]:
        return self._values([variable for variable, _, _ in self._terms])

    def _values(self, variables: Sequence[Any]) -> list[float]:
        return self._ask(
            lambda engine: [engine.get_game_variable(variable) for variable in variables]
        )

    def _shaping(self) -> list[float]:
        before, self._measured = self._measured, self._measure()
        changes = [after - earlier for after, earlier in zip(self._measured, before, strict=True)]
        worth = [
            change * gain if change > 0 else -change * loss
            for change, (_, gain, loss) in zip(changes, self._terms, strict=True)
        ]
        if not self._held.paid:
            return worth
        holding = self._held.worth(*self._values(self._hand))
        return [own + held for own, held in zip(worth, holding, strict=True)]

    def _ask(self, question: Callable[..., T]) -> T:
        """Ask the engine.

        Raises: EnvCrash for whatever the engine raises.
        """
        try:
            return question(self._engine)
        except Exception as error:
            raise self._crashed(error) from error

    def _crashed(self, error: Exception) -> EnvCrash:
        problem = f"{type(error).__name__}: {error}"
        return EnvCrash(
            f"the Doom engine of scenario {self._options.scenario!r} ended: {problem}; the "
            "table gets another one"
        )


def action_space(sizes: tuple[int, ...]) -> spaces.Space[Any]:
    return spaces.Discrete(sizes[0]) if len(sizes) == 1 else spaces.MultiDiscrete(list(sizes))


@cache
def swept() -> list[Path]:
    """Remove strays of earlier processes, once per process."""
    return remove_strays()


def make(**options: Any) -> DoomGame:
    """One table.

    options  see DoomOptions
    Raises: EnvOptionsError for options that are wrong, EnvError without ViZDoom.
    """
    read = read_options(options, known())
    swept()
    return DoomGame(read)


SPEC = EnvSpec(
    name="doom",
    make=make,
    chance=True,
    replayable=True,
    winners="one seat: no player wins, the return counts",
    objective="return",
    description="A ViZDoom scenario for one player, from pixels (env.options.scenario)",
    paths=named_paths,
    tics_per_s=TICS_PER_S,
    own_resize=OWN_RESIZE,
)
