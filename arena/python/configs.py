"""The configuration of a training: from a file, a shipped name, a dictionary or a RunConfig."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arena.data.paths import check_population_name
from pbt.config.dump import toml_value
from pbt.config.load import LoadedConfig, config_from_table, find_config, read_config
from pbt.config.problems import toml_key
from pbt.config.schema import RunConfig
from pbt.config.start_values import check_start_values
from pbt.envs.names import absolute_name
from pbt.envs.registry import absolute_options
from pbt.errors import ConfigError

Source = str | Path | Mapping[str, Any] | RunConfig
_OVERRIDES = 'a dictionary of dotted keys, or a list of words such as ["seed=2"]'
Overrides = Sequence[str] | Mapping[str, Any]


def load_named(
    config: str | Path, name: str | None, overrides: Sequence[str]
) -> tuple[RunConfig, str]:
    """The configuration of a file and the population's name: `name`, else the file's.

    overrides  as --set takes them
    Raises: ConfigError.
    """
    read, folder = read_config(config, overrides), find_config(config).parent
    chosen = check_population_name(name if name is not None else Path(config).stem.lower())
    return with_places(read, folder), chosen


def with_places(read: LoadedConfig, folder: Path) -> RunConfig:
    """The config, its files absolute: resume and match find them from any working directory.

    folder: of the config, in which what it says itself begins; what is typed begins in the working
    directory
    """
    loaded = read.config

    def begins_in(key: str) -> Path:
        return folder if read.origins.get(key) == "file" else Path()

    name = absolute_name(loaded.env.name, begins_in("env.name"))
    options = absolute_options(
        loaded.env.name, loaded.env.options, lambda key: begins_in(f"env.options.{key}")
    )
    env = loaded.env.model_copy(update={"name": name, "options": options})
    return loaded.model_copy(update={"env": env})


def config_of(source: Source, name: str | None, overrides: Sequence[str]) -> tuple[RunConfig, str]:
    """The configuration and the population's name. Raises: ConfigError that names each wrong key.

    source     a file or a shipped name; the tables of such a file as a dictionary; or a RunConfig
    name       None: that of the file
    overrides  as --set takes them
    """
    _check_kinds(source, name)
    with in_words_of_scripts():
        if isinstance(source, str | Path):
            return load_named(source, name, overrides)
        return _of_tables(source, name, overrides)


@contextmanager
def in_words_of_scripts() -> Iterator[None]:
    """Errors of configs leave this block without options, since in a script none was written."""
    try:
        yield
    except ConfigError as error:
        source, *problems = (
            line.removeprefix("--set ") for line in (error.source, *error.problems)
        )
        raise ConfigError(source, problems) from None


def _check_kinds(source: object, name: object) -> None:
    problems = []
    if not isinstance(source, str | Path | Mapping | RunConfig):
        problems.append(
            f"config: found {source!r}; expected a file or a shipped config's name, its tables as "
            "a dictionary, or an arena.RunConfig"
        )
    if not isinstance(name, str | None):
        problems.append(f"name: found {name!r}; expected a text")
    if problems:
        raise ConfigError("arena.train", problems)


def _of_tables(
    source: Mapping[str, Any] | RunConfig, name: str | None, overrides: Sequence[str]
) -> tuple[RunConfig, str]:
    if name is None:
        raise ConfigError(
            "arena.train",
            ['name: none, and a config without a file has none; give one, such as name="first"'],
        )
    chosen = check_population_name(name)
    # Only what the caller named, so that a training still says what it left to the defaults.
    table = (
        source.model_dump(mode="json", exclude_unset=True)
        if isinstance(source, RunConfig)
        else source
    )
    where = f"config of {name!r}"
    loaded = config_from_table(table, where, overrides)
    check_start_values(loaded, where)
    return with_places(LoadedConfig(loaded, where, {}), Path()), chosen


def words_of(overrides: Overrides | None, more: Mapping[str, object] | None = None) -> list[str]:
    """The words that --set takes, such as "learning.gamma=0.98".

    overrides  such words, or dotted keys with their values: what a dictionary lacks stays as it
               is, and an empty one is set as the whole table
    more       keys with their values; None: not set
    Raises: ConfigError for a value that no config holds, such as None.
    """
    set_later = {key: value for key, value in (more or {}).items() if value is not None}
    if isinstance(overrides, Mapping):
        words, values = [], {**overrides, **set_later}
    else:
        words, values = _checked_words(() if overrides is None else overrides), set_later
    return words + [word for key, value in values.items() for word in _words(key, value)]


def _checked_words(overrides: object) -> list[str]:
    if not isinstance(overrides, Sequence) or isinstance(overrides, str):
        raise ConfigError("overrides", [f"found {overrides!r}; expected {_OVERRIDES}"])
    words = [word for word in overrides if isinstance(word, str)]
    if len(words) < len(overrides):
        raise ConfigError("overrides", [f"found {list(overrides)}; expected {_OVERRIDES}"])
    return words


def _words(key: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for inner, one in value.items():
            yield from _words(f"{key}.{toml_key(str(inner))}", one)
    else:
        yield f"{key}={toml_value(_plain(key, value))}"


def _plain(key: str, value: object) -> object:
    """The value as numbers, texts, lists and tables. Raises: ConfigError where it is none."""
    try:
        plain = json.loads(json.dumps(value, allow_nan=False, ensure_ascii=False))
    except (TypeError, ValueError) as error:
        raise ConfigError(
            "overrides", [f"{key}: found {value!r}, which no config holds ({error})"]
        ) from None
    if _has_none(plain):
        raise ConfigError(
            "overrides",
            [
                f"{key}: found {value!r}; an override is a value, and None is none; leave the key "
                "out of the overrides and of the config, so that its default holds"
            ],
        )
    return plain


def _has_none(plain: object) -> bool:
    if isinstance(plain, dict):
        return any(map(_has_none, plain.values()))
    return plain is None or (isinstance(plain, list) and any(map(_has_none, plain)))
