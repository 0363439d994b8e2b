"""What a config sets: the values that differ from their defaults. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from arena.report.records import ConfigFacts
from pbt.config.dump import to_toml, toml_value
from pbt.config.schema import RunConfig

NOTHING = "-"


def config_facts(config: RunConfig) -> ConfigFacts:
    """The config in force, and what it sets."""
    defaults = RunConfig(env={"name": config.env.name})
    found = _differing(config.model_dump(), defaults.model_dump(), "")
    return ConfigFacts(tuple(found), to_toml(config))


def _differing(
    values: Mapping[str, Any], defaults: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, str, str]]:
    for name, value in values.items():
        key, default = f"{prefix}{name}", defaults.get(name)
        if value == default and key != "env.name":
            continue
        if isinstance(value, Mapping) and isinstance(default, Mapping) and value:
            yield from _differing(value, default, f"{key}.")
        else:
            yield key, _text(value), NOTHING if key == "env.name" else _text(default)


def _text(value: Any) -> str:
    return NOTHING if value is None else toml_value(value)
