"""Configs that populations ran with. A bound that was introduced later does not end them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from pbt.config.load import config_from_table
from pbt.config.problems import Loc, dotted, expectation, place_of
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError


def config_as_stored(
    table: Mapping[str, Any], source: str, overrides: Sequence[str] = ()
) -> RunConfig:
    """A config that a population ran with, and overrides on top.

    Its numbers stay as they are where they are larger than they may be by now; those of overrides
    are held to the bounds.
    Raises: ConfigError.
    """
    try:
        return config_from_table(table, source, overrides)
    except ConfigError:
        beyond = dict(_beyond(table))
        if not beyond:
            raise
    within: Any = json.loads(json.dumps(table))
    for place, (_, bound) in beyond.items():
        within = _with(within, place, bound)
    config = config_from_table(within, source, overrides)
    edited = [f"{override.partition('=')[0].strip()}." for override in overrides]
    for place, (value, _) in beyond.items():
        key = ".".join(map(str, place))
        if not any(f"{key}.".startswith(one) for one in edited):
            config = _with(config, place, value)
    return config


def beyond_bounds(config: RunConfig) -> list[str]:
    """One line for each number that is larger than it may be by now."""
    return [
        f"{dotted(place)} = {value!r}: beyond what it may be by now, {expectation(place)}"
        for place, (value, _) in _beyond(config.model_dump(mode="json"))
    ]


def _beyond(table: Mapping[str, Any]) -> Iterator[tuple[Loc, tuple[float, float]]]:
    """(place, (number, bound)) of the numbers that are larger in size than they may be."""
    try:
        RunConfig.model_validate_json(json.dumps(table), strict=True)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            kind, limits = detail["type"], detail.get("ctx", {})
            if kind == "less_than_equal":
                yield place_of(detail, table), (detail["input"], limits["le"])
            elif kind == "greater_than_equal" and limits["ge"] < 0:
                yield place_of(detail, table), (detail["input"], limits["ge"])


def _with(part: Any, place: Sequence[str | int], value: float) -> Any:
    """A section, table or list with this number at the place. No check is made."""
    if not place:
        return value
    name, *rest = place
    if isinstance(part, BaseModel):
        inner = _with(getattr(part, str(name)), rest, value)
        return part.model_copy(update={str(name): inner})
    if isinstance(part, Mapping):
        return {**part, name: _with(part[name], rest, value)}
    position = int(name)
    return type(part)((*part[:position], _with(part[position], rest, value), *part[position + 1 :]))
