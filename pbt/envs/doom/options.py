"""The options of Doom games, in `env.options`.

These are the options that all Doom games take, and those that games for one player add.
"""

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, TypeVar

from pbt.envs.doom.terms import RewardTerm, read_terms
from pbt.errors import EnvOptionsError
from pbt.user_folders import expanded

ACTIONS = ("heads", "single")
TIMEOUTS = ("truncated", "terminated")
TICS_PER_S = 35.0
OWN_RESIZE = "env.options.height = {height} and env.options.width = {width}"


@dataclass(frozen=True)
class SceneOptions:
    """The options that every Doom game takes.

    scenario    one of ViZDoom's own by its name ("basic"), or the path of a .cfg file
    wad         path of another WAD than the scenario's
    map         another of its maps ("map02")
    frame_skip  tics that an action is held
    screen      what the engine renders, WIDTHxHEIGHT; 160x120 is the smallest that it knows
    width       of what the network sees, in pixels
    height      of what the network sees, in pixels
    turns       how many values a delta button such as TURN_LEFT_RIGHT_DELTA has, 0 among them
    turn_limit  the largest of them, in degrees (or map units) per tic
    variables   game variables that are seen beside the screen; None: the usual ones
    terms       shaping: name -> { variable = "HEALTH", gain = 1.0, loss = 0.0 }, weighted by
                learning.shaping; with `apart = true` two terms, NAME_gain and NAME_loss; or
                name -> { held = [...] }, for holding a loaded weapon
    """

    scenario: str = "basic"
    wad: str | None = None
    map: str | None = None
    frame_skip: int = 4
    screen: str = "160x120"
    width: int = 128
    height: int = 72
    turns: int = 21
    turn_limit: float = 12.5
    variables: tuple[str, ...] | None = None
    terms: tuple[RewardTerm, ...] = ()

    @property
    def resolution(self) -> str:
        """The name that ViZDoom has for `screen`."""
        return f"RES_{self.screen.upper()}"

    @property
    def screen_size(self) -> tuple[int, int]:
        """(height, width) that is rendered."""
        width, _, height = self.screen.lower().partition("x")
        return int(height), int(width)


@dataclass(frozen=True)
class DoomOptions(SceneOptions):
    """The options of a game for one player.

    max_tics  after which an episode ends; None: those of the scenario, or ten minutes where it has
              no limit and may never end
    actions   "heads": one choice per group of buttons that exclude each other, made at the same
              time; "single": at most one button at a time
    timeout   what the end of the scenario's time is: "truncated" (the value goes on) or
              "terminated" (surviving was the task)
    points    a game variable that counts what was achieved ("KILLCOUNT"), shown in results
    """

    max_tics: int | None = None
    actions: str = "heads"
    timeout: str = "truncated"
    points: str | None = None


class DoomNames(NamedTuple):
    """The names that this ViZDoom has.

    scenarios    the folder of its scenarios
    resolutions  names of screen sizes
    variables    names of game variables
    buttons      names of buttons
    """

    scenarios: Path
    resolutions: frozenset[str]
    variables: frozenset[str]
    buttons: frozenset[str]


O = TypeVar("O", bound=SceneOptions)


def parsed(kind: type[O], given: Mapping[str, Any]) -> O:
    """The options with values of the right types, which may still be impossible.

    Raises: EnvOptionsError with all unknown names and wrong types.
    """
    types = {field.name: field.type for field in fields(kind)}
    problems = [unlike(name, name, types, "option") for name in given if name not in types]
    options = {name: value for name, value in given.items() if name in types}
    for name, value in options.items():
        accepted, expected = _KINDS[types[name]]
        if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted):
            problems.append(
                f"{name} = {value!r}: must be {expected}; the default is {getattr(kind, name)!r}"
            )
        elif isinstance(value, list | tuple):
            options[name] = tuple(value)
            if not all(isinstance(word, str) for word in value):
                problems.append(f'{name} = {value!r}: must be a list of texts, such as ["HEALTH"]')
    if isinstance(terms := options.get("terms", {}), dict):
        options["terms"], bad = read_terms(terms)
        problems += bad
    if problems:
        raise EnvOptionsError(problems)
    return kind(**options)


def read_options(given: Mapping[str, Any], known: DoomNames) -> DoomOptions:
    """The checked options.

    Raises: EnvOptionsError with everything that is wrong.
    """
    options = parsed(DoomOptions, given)
    problems = choice_problems(
        {"actions": (options.actions, ACTIONS), "timeout": (options.timeout, TIMEOUTS)}
    )
    problems += least_problems(options, {"max_tics": 1}) + scene_problems(options, known)
    if options.points and options.points.upper() not in known.variables:
        problems.append(
            "points" + unlike("", options.points.upper(), sorted(known.variables), "game variable")
        )
    if problems:
        raise EnvOptionsError(problems)
    return options


def scenario_file(options: SceneOptions, known: DoomNames) -> Path:
    """The scenario's .cfg file."""
    if options.scenario.endswith(".cfg"):
        return expanded(options.scenario).resolve()
    return known.scenarios / f"{options.scenario}.cfg"


def named_paths(given: Mapping[str, Any]) -> list[str]:
    """Which of the options are paths. Names of scenarios are none."""
    texts = {name: text for name in ("scenario", "wad") if isinstance(text := given.get(name), str)}
    return [name for name, text in texts.items() if name == "wad" or text.endswith(".cfg")]


_KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    int: ((int,), "a whole number"),
    int | None: ((int, NoneType), "a whole number"),
    float: ((int, float), "a number"),
    bool: ((bool,), "true or false"),
    str: ((str,), "a text"),
    str | None: ((str, NoneType), "a text"),
    tuple[str, ...] | None: ((list, tuple, NoneType), "a list"),
    str | tuple[str, ...]: ((str, list, tuple), "a text or a list"),
    tuple[RewardTerm, ...]: ((dict,), "a table"),
}
"""By a field's type: what a value may be, and how that is called."""


def choice_problems(choices: Mapping[str, tuple[str, Iterable[str]]]) -> list[str]:
    """What is wrong with words, one line each.

    choices  name -> (the word chosen, the words to choose from)
    """
    return [
        f"{name} = {word!r}: must be one of {', '.join(map(repr, words))}"
        for name, (word, words) in choices.items()
        if word not in words
    ]


def least_problems(options: SceneOptions, least: Mapping[str, float]) -> list[str]:
    """Which options are too small, one line each.

    least  name -> the smallest value that it may have
    """
    values = {name: getattr(options, name) for name in least}
    return [
        f"{name} = {value}: must be at least {least[name]}"
        for name, value in values.items()
        if value is not None and not value >= least[name]
    ]


def scene_problems(options: SceneOptions, known: DoomNames) -> list[str]:
    """What is wrong with the options that every Doom game has, one line each."""
    problems = least_problems(options, {"frame_skip": 1, "width": 1, "height": 1, "turns": 3})
    if options.turns % 2 == 0:
        problems.append(f"turns = {options.turns}: must be odd, so that one choice turns nothing")
    if not 0 < options.turn_limit < math.inf:
        problems.append(f"turn_limit = {options.turn_limit}: must be more than 0 degrees per tic")
    if options.resolution not in known.resolutions:
        sizes = sorted(name.removeprefix("RES_").lower() for name in known.resolutions)
        problems.append(
            f"screen = {options.screen!r}: ViZDoom does not render that; try "
            f"{', '.join(sizes[:4])} or another of its {len(sizes)}"
        )
    scenarios = sorted(path.stem for path in known.scenarios.glob("*.cfg"))
    if options.scenario.endswith(".cfg"):
        file = scenario_file(options, known)
        if not file.is_file():
            problems.append(
                f"scenario = {options.scenario!r}: no file {file}; paths are relative to the "
                f"working directory, {Path.cwd()}"
            )
    elif options.scenario not in scenarios:
        problems.append("scenario" + unlike("", options.scenario, scenarios, "scenario"))
    if options.wad is not None and not (wad := expanded(options.wad)).is_file():
        problem = "a folder; expected a WAD or a .pk3" if wad.is_dir() else "no such file"
        problems.append(
            f"wad = {options.wad!r}: {problem}; paths are relative to the working directory, "
            f"{Path.cwd()}"
        )
    variables = [
        (f"variables.{place}", name.upper()) for place, name in enumerate(options.variables or ())
    ]
    variables += [(f"terms.{term.name}.variable", term.variable) for term in options.terms]
    return problems + [
        place + unlike("", name, sorted(known.variables), "game variable")
        for place, name in variables
        if name not in known.variables
    ]


def unlike(place: str, word: str, words: Iterable[str], kind: str) -> str:
    """Says that there is no such word, and which one may have been meant."""
    close = difflib.get_close_matches(word, words := list(words), n=1, cutoff=0.5)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(words)}"
    return f"{place}: no such {kind}; {hint}" if place else f" = {word!r}: no such {kind}; {hint}"
