"""What a config may say of a Doom game, in `env.options`."""

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from pbt.errors import EnvOptionsError

ACTIONS = ("heads", "single")
TIMEOUTS = ("truncated", "terminated")


class RewardTerm(NamedTuple):
    """A shaping term: `gain` for every unit by which the game variable grew since the last step, `loss` for every unit by which it fell."""

    name: str
    variable: str
    gain: float
    loss: float


@dataclass(frozen=True)
class DoomOptions:
    """scenario: one of ViZDoom's own by its name ("basic"), or the path of a .cfg file

    wad         path of another WAD than the scenario's;  map: another of its maps ("map02")
    frame_skip  tics that an action is held
    max_tics    after which an episode ends; None: those of the scenario, ten minutes where it has no limit and may never end
    screen      what the engine renders, WIDTHxHEIGHT; 160x120 is the smallest it knows;  width, height: what the network sees of it
    actions     "heads": one choice per group of buttons that exclude each other, made at the same time; "single": at most one button at a time
    timeout     what the end of the scenario's time is: "truncated" (the value goes on) or "terminated" (surviving was the task)
    variables   game variables that are seen beside the screen; None: those of the scenario
    terms       shaping: name -> { variable = "HEALTH", gain = 1.0, loss = 0.0 }, weighted by learning.shaping
    points      a game variable that counts what was achieved ("KILLCOUNT"), shown in results
    """

    scenario: str = "basic"
    wad: str | None = None
    map: str | None = None
    frame_skip: int = 4
    max_tics: int | None = None
    screen: str = "160x120"
    width: int = 128
    height: int = 72
    actions: str = "heads"
    timeout: str = "truncated"
    variables: tuple[str, ...] | None = None
    terms: tuple[RewardTerm, ...] = ()
    points: str | None = None

    @property
    def resolution(self) -> str:
        """As ViZDoom names it."""
        return f"RES_{self.screen.upper()}"

    @property
    def screen_size(self) -> tuple[int, int]:
        """(height, width) that is rendered."""
        width, _, height = self.screen.lower().partition("x")
        return int(height), int(width)


class Known(NamedTuple):
    """What this ViZDoom has: names of its scenarios, resolutions and game variables."""

    scenarios: Path
    resolutions: frozenset[str]
    variables: frozenset[str]


def read_options(given: Mapping[str, Any], known: Known) -> DoomOptions:
    """Raises: EnvOptionsError with everything that is wrong."""
    problems = [_unlike(name, name, [field.name for field in fields(DoomOptions)], "option") for name in given if name not in _NAMES]
    options: dict[str, Any] = {name: value for name, value in given.items() if name in _NAMES}
    problems += _wrong_types(options)
    if not problems:
        if options.get("variables") is not None:
            options["variables"] = tuple(options["variables"])
        options["terms"], bad = _terms(options.get("terms", {}))
        problems += bad
    if not problems:
        found = DoomOptions(**options)
        problems += _problems(found, known)
    if problems:
        raise EnvOptionsError(problems)
    return found


def scenario_file(options: DoomOptions, known: Known) -> Path:
    """The .cfg file."""
    if options.scenario.endswith(".cfg"):
        return Path(options.scenario).expanduser().resolve()
    return known.scenarios / f"{options.scenario}.cfg"


def named_paths(given: Mapping[str, Any]) -> list[str]:
    """Which of the options are paths; names of scenarios are none."""
    texts = {name: text for name in ("scenario", "wad") if isinstance(text := given.get(name), str)}
    return [name for name, text in texts.items() if name == "wad" or text.endswith(".cfg")]


_NAMES = frozenset(field.name for field in fields(DoomOptions))
_TYPES: dict[str, tuple[type, ...]] = {
    "frame_skip": (int,), "max_tics": (int, type(None)), "width": (int,), "height": (int,), "variables": (list, tuple, type(None)), "terms": (dict,),
}  # fmt: skip
_OPTIONAL = ("wad", "map", "points")


def _wrong_types(options: Mapping[str, Any]) -> list[str]:
    problems = []
    for name, value in options.items():
        types = _TYPES.get(name, (str, type(None)) if name in _OPTIONAL else (str,))
        if not isinstance(value, types) or isinstance(value, bool):
            expected = {int: "a whole number", list: "a list", dict: "a table", str: "a text"}[types[0]]
            problems.append(f"{name} = {value!r}: must be {expected}; the default is {getattr(DoomOptions, name)!r}")
    variables = options.get("variables")
    if isinstance(variables, list | tuple) and not all(isinstance(name, str) for name in variables):
        problems.append(f'variables = {variables!r}: must be a list of texts, such as ["HEALTH"]')
    return problems


def _terms(given: Mapping[str, Any]) -> tuple[tuple[RewardTerm, ...], list[str]]:
    terms, problems = [], []
    for name, values in given.items():
        example = f'write {name} = {{ variable = "HEALTH", gain = 1.0, loss = 0.0 }}'
        if not isinstance(values, Mapping) or not isinstance(values.get("variable"), str):
            problems.append(f"terms.{name} = {values!r}: must be a table with a variable; {example}")
        elif unknown := sorted(set(values) - {"variable", "gain", "loss"}):
            problems.append(f"terms.{name}.{unknown[0]}: unknown key; {example}")
        elif not all(_is_number(values.get(key, 0.0)) for key in ("gain", "loss")):
            problems.append(f"terms.{name}: gain and loss must be finite numbers; {example}")
        elif name == "reward":
            problems.append("terms.reward: that is the game's own reward; call the term something else")
        else:
            terms.append(RewardTerm(name, values["variable"].upper(), float(values.get("gain", 0.0)), float(values.get("loss", 0.0))))
    return tuple(terms), problems


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _problems(options: DoomOptions, known: Known) -> list[str]:
    problems = []
    for name, words in (("actions", ACTIONS), ("timeout", TIMEOUTS)):
        if getattr(options, name) not in words:
            problems.append(f"{name} = {getattr(options, name)!r}: must be one of {', '.join(map(repr, words))}")
    counts = {name: getattr(options, name) for name in ("frame_skip", "max_tics", "width", "height")}
    problems += [f"{name} = {value}: must be at least 1" for name, value in counts.items() if value is not None and value < 1]
    if options.resolution not in known.resolutions:
        sizes = sorted(name.removeprefix("RES_").lower() for name in known.resolutions)
        problems.append(f"screen = {options.screen!r}: ViZDoom does not render that; try {', '.join(sizes[:4])} or another of its {len(sizes)}")
    own = sorted(path.stem for path in known.scenarios.glob("*.cfg"))
    if options.scenario.endswith(".cfg"):
        file = scenario_file(options, known)
        if not file.is_file():
            problems.append(f"scenario = {options.scenario!r}: no file {file}; paths are relative to the working directory, {Path.cwd()}")
    elif options.scenario not in own:
        problems.append("scenario" + _unlike("", options.scenario, own, "scenario"))
    if options.wad is not None and not Path(options.wad).expanduser().is_file():
        problems.append(f"wad = {options.wad!r}: no such file; paths are relative to the working directory, {Path.cwd()}")
    named = [("variables", name.upper()) for name in options.variables or ()] + [(f"terms.{term.name}", term.variable) for term in options.terms]
    named += [("points", options.points.upper())] if options.points else []
    problems += [place + _unlike("", name, sorted(known.variables), "game variable") for place, name in named if name not in known.variables]
    return problems


def _unlike(place: str, word: str, words: Iterable[str], kind: str) -> str:
    close = difflib.get_close_matches(word, words := list(words), n=1, cutoff=0.5)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(words)}"
    return f"{place}: no such {kind}; {hint}" if place else f" = {word!r}: no such {kind}; {hint}"
