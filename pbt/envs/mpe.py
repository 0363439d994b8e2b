"""Games of the package mpe2: particles in a plane that push, chase, gather and signal at once."""

import inspect
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.config.problems import did_you_mean
from pbt.envs.adapters.pettingzoo_parallel import PettingZooParallel
from pbt.envs.contract import EnvSpec, Game
from pbt.errors import EnvError, EnvOptionsError

DEFAULT_SCENARIO = "simple_push"
_VERSIONED = re.compile(r"(\w+)_v(\d+)")
_EXPECTED = {bool: "true or false", int: "a whole number", float: "a number"}
# What a config cannot set: the plane is not shown.
_OURS = ("render_mode",)


def make(**options: Any) -> Game:
    """One table.

    options  `scenario`, `one_role`, and what the scenario itself takes, such as max_cycles.
             one_role: observations are filled with zeros up to the longest, so that agents of
             different sizes share a role and one member may play every seat
    Raises: EnvOptionsError for options that are wrong, EnvError without mpe2.
    """
    modules = scenarios()
    scenario, one_role = options.pop("scenario", DEFAULT_SCENARIO), options.pop("one_role", False)
    if not isinstance(scenario, str) or scenario not in modules:
        raise EnvOptionsError(
            [f"scenario = {scenario!r}: no such scenario; {_hint(str(scenario), list(modules))}"]
        )
    raw_env = import_module(f"mpe2.{modules[scenario]}").raw_env
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(raw_env).parameters.items()
        if name not in _OURS
    }
    problems = [
        problem
        for name, value in options.items()
        if (problem := _problem(name, value, defaults, scenario))
    ]
    if not isinstance(one_role, bool):
        problems.append(f"one_role = {one_role!r}: must be true or false; the default is False")
    if problems:
        raise EnvOptionsError(problems)
    return _game(scenario, raw_env, options, one_role)


def _game(scenario: str, raw_env: Any, options: Mapping[str, Any], one_role: bool) -> Game:
    try:
        raw = raw_env(**options)
    except Exception as error:
        shown = ", ".join(f"{name} = {value!r}" for name, value in options.items()) or "no options"
        raise EnvOptionsError(
            [f"{shown}: scenario {scenario} raised {type(error).__name__}: {error}"]
        ) from error
    # The screen that it would be drawn on takes 2 MB.
    raw.screen = None
    parallel = AtOnce(raw)
    return PettingZooParallel(OneRole(parallel) if one_role else parallel, scenario)


@cache
def scenarios() -> Mapping[str, str]:
    """Scenario name -> module of its newest version.

    Raises: EnvError when mpe2 is not installed.
    """
    try:
        package = import_module("mpe2")
    except ImportError as error:
        raise EnvError(
            f"MPE games need the package mpe2, which cannot be loaded ({error}); install it: "
            "pip install mpe2"
        ) from error
    versions = [
        version
        for module in iter_modules(package.__path__)
        if (version := _VERSIONED.fullmatch(module.name))
    ]
    return {
        version[1]: version[0]
        for version in sorted(versions, key=lambda version: (version[1], int(version[2])))
    }


def _problem(name: str, value: Any, takes: Mapping[str, Any], scenario: str) -> str | None:
    """What is wrong with an option of the scenario itself, judged by its default; None: nothing."""
    if name not in takes:
        return (
            f"{name}: no such option of {scenario}; {_hint(name, ['scenario', 'one_role', *takes])}"
        )
    default = takes[name]
    kind = type(default)
    fits = isinstance(value, int | float if kind is float else kind) and (
        kind is bool
    ) == isinstance(value, bool)
    if kind in _EXPECTED and not fits:
        return f"{name} = {value!r}: must be {_EXPECTED[kind]}; the default is {default!r}"
    if name == "max_cycles" and value < 1:
        return f"{name} = {value!r}: must be at least 1; the default is {default!r}"
    return None


def _hint(word: str, known: list[str]) -> str:
    guess = did_you_mean(word, known)
    return f"did you mean {guess}?" if guess else f"there are {', '.join(known)}"


class AtOnce:
    """A parallel environment over a raw one of mpe2, where agents choose in turn and move at once.

    PettingZoo's own conversion asks each agent's observation twice in every step, and copies what
    it gets. This class asks once and copies nothing, so a step takes less time. What it returns is
    valid until the next step.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.possible_agents = list(raw.possible_agents)
        self.observation_space, self.action_space = raw.observation_space, raw.action_space
        self.close = raw.close
        self.agents: list[Any] = []

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self._raw.reset(seed=seed, options=options)
        self.agents = self.possible_agents
        return self._seen(), self._raw.infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Any]:
        # In the raw environment the last agent's step moves all. Other steps only store actions.
        raw, last = self._raw, self.agents[-1]
        raw.current_actions = [actions[agent] for agent in self.agents]
        raw.agent_selection = last
        raw.step(actions[last])
        # Every game of the package ends for all agents together.
        if any(raw.terminations.values()) or any(raw.truncations.values()):
            self.agents = []
        return self._seen(), raw.rewards, raw.terminations, raw.truncations, raw.infos

    def _seen(self) -> dict[Any, Any]:
        return {agent: self._raw.observe(agent) for agent in self.possible_agents}


class OneRole:
    """A parallel environment whose agents see vectors of one length, with zeros behind their own.

    Raises: EnvOptionsError where agents have different actions.
    """

    def __init__(self, env: Any) -> None:
        self._env = env
        self.possible_agents = list(env.possible_agents)
        self._length = max(
            int(env.observation_space(agent).shape[0]) for agent in self.possible_agents
        )
        self._space = spaces.Box(-np.inf, np.inf, (self._length,), np.float32)
        acting = {agent: env.action_space(agent) for agent in self.possible_agents}
        if any(space != acting[self.possible_agents[0]] for space in acting.values()):
            shown = ", ".join(f"{agent} {space}" for agent, space in acting.items())
            problem = f"one_role = True: agents have different actions ({shown})"
            raise EnvOptionsError([f"{problem}; leave it out, so that each kind has a role"])

    @property
    def agents(self) -> Any:
        return self._env.agents

    def observation_space(self, agent: Any) -> spaces.Box:
        return self._space

    def action_space(self, agent: Any) -> Any:
        return self._env.action_space(agent)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        observations, infos = self._env.reset(seed=seed, options=options)
        return self._filled(observations), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Any]:
        observations, rewards, terminations, truncations, infos = self._env.step(actions)
        return self._filled(observations), rewards, terminations, truncations, infos

    def close(self) -> None:
        self._env.close()

    def _filled(self, seen: Mapping[Any, NDArray[np.float32]]) -> dict[Any, NDArray[np.float32]]:
        filled = {}
        for agent, vector in seen.items():
            filled[agent] = np.zeros(self._length, np.float32)
            filled[agent][: len(vector)] = vector
        return filled


SPEC = EnvSpec(
    name="mpe",
    make=make,
    chance=True,
    replayable=True,
    winners="the ranking of summed rewards",
    # No scenario names a winner. Teammates share rewards; those of predators and prey, or of the
    # pushing and the pushed, do not sum to 0. So each role has its own return.
    objective="return",
    description="Particles that push, chase and gather (MPE2; env.options.scenario)",
)
