"""Reads a config: from a file, a shipped name or a stored table to one checked RunConfig.

Every problem is listed at once. `load_config("demo", ["learning.gamma=0.98"])` is all that most
callers need; `read_config` also says where each value came from.
"""

import copy
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from pbt.config.float32 import nonzero_float
from pbt.config.learning import HYPERPARAMS
from pbt.config.problems import did_you_mean, field_problems
from pbt.config.schema import RunConfig
from pbt.config.start_values import check_start_values
from pbt.errors import ConfigError
from pbt.user_folders import expanded

Table = dict[str, Any]
SUFFIX = ".toml"
# (section, key, value) of each rule that became a choice, and of each key that came later: without
# it a stored config would not be known as one that names every value of its time.
HELD_BEFORE: tuple[tuple[str, str, Any], ...] = (
    ("pbt", "opponents", "all"),
    ("pbt", "spread_start", 1.0),
    ("pbt", "copy_ratio", 0.0),
    ("pbt", "copy_significance_per", "comparison"),
    ("learning", "normalize_returns", False),
    ("learning", "optimizer", "adam"),
    ("learning", "rmsprop_decay", 0.99),
    ("learning", "rmsprop_eps", 1e-5),
    ("learning", "rmsprop_eps_inside", False),
    ("runtime", "sync", "async"),
    ("learning", "value_clip", None),
    ("learning", "magnet_coef", 0.0),
    ("learning", "not_annealed", []),
    ("learning", "magnet_decay", 0.999),
    ("model", "lstm_size", 128),
    ("model", "measurement_hidden", []),
    ("population", "began", {}),
    ("learning", "algorithm", "appo"),
    ("runtime", "sync_steps", "auto"),
    ("hts", "gradient", "clipped"),
    ("learning", "scale_with_batch", 0),
    ("learning", "shuffle", "slots"),
    ("sampling", "decorrelation_steps", 0),
)
_OWN_OPTION = "env.options."
_BARE_FRACTION = re.compile(r"([-+]?)(\.\d+(?:[eE][-+]?\d+)?)")
_SYNTAX_PLACE = re.compile(r" \((?:at line (\d+), column (\d+)|at end of document)\)$")
_OPENS_A_TOML_VALUE = ('"', "'", "[", "{")


@dataclass(frozen=True)
class LoadedConfig:
    """A config and where its values came from.

    source   what the caller asked for
    origins  dotted key -> "file" or "--set"; keys that are absent hold their defaults
    """

    config: RunConfig
    source: str
    origins: Mapping[str, str]


def load_config(source: str | Path, overrides: Sequence[str] = ()) -> RunConfig:
    """The checked config of a file.

    source     path of a TOML file, or the bare name of a shipped config
    overrides  "a.b=c", where c is a TOML value or a bare word
    Raises: ConfigError with every problem of file and overrides.
    """
    return read_config(source, overrides).config


def read_config(source: str | Path, overrides: Sequence[str] = ()) -> LoadedConfig:
    """As `load_config`, with origins."""
    path = find_config(source)
    loaded = _resolve(_parse_file(path), overrides, str(source))
    check_start_values(loaded.config, str(source))
    return loaded


def config_from_table(
    table: Mapping[str, Any], source: str, overrides: Sequence[str] = ()
) -> RunConfig:
    """A stored config (a JSON object, or `RunConfig.model_dump()`) with overrides on top.

    Raises: ConfigError.
    """
    return _resolve(_as_it_ran(dict(table)), overrides, source).config


def options_from(overrides: Sequence[str]) -> dict[str, Any]:
    """A game's options, made of overrides alone.

    overrides  "steps=3", or "env.options.steps=3" as for a config; and "env.grey=true" and the like
    Raises: ConfigError with every problem.
    """
    words = [override.strip() for override in overrides]
    own = [word for word in words if word.startswith(_OWN_OPTION) or not word.startswith("env.")]
    options, _, problems = _apply_overrides({}, [word.removeprefix(_OWN_OPTION) for word in own])
    table, _, more = _apply_overrides({}, [word for word in words if word not in own])
    if problems := problems + more:
        raise ConfigError("env.options", problems)
    env = {**table.get("env", {}), "name": "the game", "options": options}
    return config_from_table({"env": env}, "env").env.game_options


def overriding_values(overrides: Sequence[str]) -> Table:
    """The values of overrides alone, as tables. Those that cannot be read are left out."""
    return _apply_overrides({}, overrides)[0]


def shipped_configs() -> dict[str, Path]:
    """Bare name -> file of the configs that come with the package."""
    # In an installed package they lie beside this module, in a checkout at its root.
    here = Path(__file__).resolve()
    places = (here.parent / "shipped", here.parents[2] / "configs")
    folder = next(filter(Path.is_dir, places), None)
    return {path.stem: path for path in sorted(folder.glob(f"*{SUFFIX}"))} if folder else {}


def find_config(source: str | Path) -> Path:
    """The file that a user means by a path or a name.

    Raises: ConfigError that names the shipped configs.
    """
    text = str(source)
    shipped = shipped_configs()
    if text in shipped and isinstance(source, str):
        return shipped[text]
    path = expanded(source)
    if path.is_file():
        return path
    names = ", ".join(shipped) or "none"
    if path.is_dir():
        raise ConfigError(
            text,
            [f"{text}: a folder; expected a {SUFFIX} file or a shipped config's name ({names})"],
        )
    if path.exists():
        raise ConfigError(text, [f"{text}: a device or a pipe; expected a {SUFFIX} file"])
    guess = did_you_mean(path.name.removesuffix(SUFFIX), shipped)
    advice = f"did you mean {guess}?" if guess else "check the path, or take a shipped one"
    raise ConfigError(
        text, [f"{text}: no such file and no shipped config; {advice} (shipped: {names})"]
    )


def _parse_file(path: Path) -> Table:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            str(path), [f"byte {error.start}: not UTF-8 text; save the file as UTF-8"]
        ) from None
    except OSError as error:
        raise ConfigError(
            str(path), [f"{path}: cannot be read ({error.strerror}); check its permissions"]
        ) from None
    try:
        return tomllib.loads(text, parse_float=nonzero_float)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), [_syntax_problem(text, str(error))]) from None
    except RecursionError:
        raise ConfigError(str(path), ["nested far too deep; a config has three levels"]) from None


def _syntax_problem(text: str, message: str) -> str:
    """The problem with its place and what stands there.

    Such as `line 3, column 7: found "gamma 0.9"; expected '=' after a key; ...`.
    """
    place = _SYNTAX_PLACE.search(message)
    reason = _SYNTAX_PLACE.sub("", message)
    reason = reason[:1].lower() + reason[1:]
    if place is None or place[1] is None:
        return f"end of file: {reason}; close the last quote or bracket"
    line, column = int(place[1]), int(place[2])
    lines = text.splitlines()
    content = lines[line - 1].strip() if line <= len(lines) else ""
    return (
        f"line {line}, column {column}: not TOML: found {content!r}; {reason}; texts need "
        "quotes, keys and tables stand once"
    )


def _resolve(given: Table, overrides: Sequence[str], source: str) -> LoadedConfig:
    table, set_keys, problems = _apply_overrides(given, overrides)
    left = set(_leaves(table))
    from_file = [key for key in _leaves(given) if key in left]
    origins = dict.fromkeys(from_file, "file") | dict.fromkeys(set_keys, "--set")
    try:
        # As JSON, since strict validation takes lists for tuples only from there. TOML's dates
        # become text, which no field accepts by accident.
        config = RunConfig.model_validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        problems += [_named_by_origin(line, set_keys) for line in field_problems(error, table)]
    else:
        if not problems:
            return LoadedConfig(config, source, origins)
    raise ConfigError(source, problems)


def _apply_overrides(given: Table, overrides: Sequence[str]) -> tuple[Table, list[str], list[str]]:
    """The table with overrides on top, the dotted keys they set, and what is wrong with them."""
    table, keys, problems = copy.deepcopy(given), [], []
    for override in overrides:
        try:
            path, value = _parse_override(override)
            _put(table, path, value)
        except ValueError as error:
            problems.append(f"--set {' '.join(override.split())}: {error}")
        else:
            keys.append(".".join(path))
    return table, keys, problems


def _parse_override(override: str) -> tuple[list[str], Any]:
    key, equals, text = override.partition("=")
    if not equals or not text.strip():
        raise ValueError("no value; write section.key=value")
    path: list[str] = []
    try:
        nested: Any = tomllib.loads(f"{key} = 0")
        while isinstance(nested, dict):
            (name,) = nested
            path.append(name)
            nested = nested[name]
    except (tomllib.TOMLDecodeError, ValueError):
        raise ValueError(f"{key!r} is not a key; write section.key=value") from None
    return path, _parse_value(text.strip())


def _parse_value(text: str) -> Any:
    if bare := _BARE_FRACTION.fullmatch(text):
        # Programs and people write .5, which TOML does not have.
        text = f"{bare[1]}0{bare[2]}"
    try:
        parsed = tomllib.loads(f"value = {text}", parse_float=nonzero_float)
    except tomllib.TOMLDecodeError:
        if text and not text.startswith(_OPENS_A_TOML_VALUE) and "\n" not in text:
            return text
        raise ValueError(
            "not a TOML value; texts in quotes, lists as [1, 2], tables as { a = 1 }"
        ) from None
    if set(parsed) != {"value"}:
        raise ValueError("more than one value; write each as an override of its own")
    return parsed["value"]


def _put(table: Table, path: Sequence[str], value: Any) -> None:
    *sections, last = path
    for depth, section in enumerate(sections, start=1):
        inner = table.setdefault(section, {})
        if not isinstance(inner, dict):
            raise ValueError(f"{'.'.join(path[:depth])} is not a table; set it as a whole")
        table = inner
    table[last] = value


def _named_by_origin(problem: str, set_keys: Sequence[str]) -> str:
    """The problem, marked as one of --set where its value came from the command line."""
    place = re.split(r"[ :]", problem, maxsplit=1)[0]
    was_set = any(place == key or place.startswith(f"{key}.") for key in set_keys)
    return f"--set {problem}" if was_set else problem


def _leaves(table: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Dotted keys of everything that is not a table (an empty table counts)."""
    keys = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        keys += _leaves(value, f"{key}.") if isinstance(value, Mapping) and value else [key]
    return keys


def _as_it_ran(table: Table) -> Table:
    """The table of a population of an earlier version, completed by the rules that it began with.

    A whole section that lacks a later key gets what held before that key existed. Bounds came with
    their hyperparameters, and hold by default.
    """
    later = {key for _, key, _ in HELD_BEFORE} | {row.bounds_key for row in HYPERPARAMS.values()}
    for section, key, value in HELD_BEFORE:
        stored = table.get(section)
        model = cast("type[BaseModel]", RunConfig.model_fields[section].annotation)
        known = model.model_fields.items()
        whole = {name for name, field in known if field.default is not None} - later
        if isinstance(stored, dict) and key not in stored and whole <= stored.keys():
            table = {**table, section: {**stored, key: value}}
    return table
