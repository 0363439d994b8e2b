"""A config as its difference to another one, such as the template that it began as. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pbt.config.dump import toml_value
from pbt.config.load import load_config, shipped_configs
from pbt.config.problems import toml_key
from pbt.config.schema import RunConfig

NOTHING = "-"
_OPEN = (None, "auto")


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """A value that differs.

    key      dotted
    value    as TOML writes it; "-" where there is none
    other    the value of the other config
    decided  the other config leaves the value open, and it was decided when the population was made
             or first started
    """

    key: str
    value: str
    other: str
    decided: bool


def differences(config: RunConfig, other: RunConfig) -> list[ValueDifference]:
    """What `config` has otherwise than `other`, in the order of the schema."""
    values, others = dict(_flat(config.model_dump())), dict(_flat(other.model_dump()))
    keys = [*values, *(key for key in others if key not in values)]
    return [
        ValueDifference(
            key,
            _text(values.get(key)),
            _text(others.get(key)),
            key in others and others[key] in _OPEN,
        )
        for key in keys
        if values.get(key) != others.get(key)
    ]


def defaults_of(config: RunConfig) -> RunConfig:
    """The config that names the same game and nothing else."""
    return RunConfig.model_validate({"env": {"name": config.env.name}})


def templates_of(config: RunConfig) -> dict[str, RunConfig]:
    """Name -> shipped config of the same game; the nearest one first.

    That is the one with the same description, where there is one, else the one with the fewest
    values that a person set otherwise.
    """
    same_game = {
        name: template
        for name in shipped_configs()
        if (template := load_config(name)).env.name == config.env.name
    }

    def distance(name: str) -> tuple[bool, int, str]:
        template = same_game[name]
        set_otherwise = [one for one in differences(config, template) if not one.decided]
        return template.description != config.description, len(set_otherwise), name

    return {name: same_game[name] for name in sorted(same_game, key=distance)}


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        key = f"{prefix}{toml_key(name)}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{key}.")
        else:
            yield key, value


def _text(value: Any) -> str:
    return NOTHING if value is None else toml_value(value)
