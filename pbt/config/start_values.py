"""The values that members begin with, and whether PBT may change them from there."""

from collections.abc import Iterator

from pbt.config.learning import rows_of
from pbt.config.mutable import SHAPING, HyperparamSpec
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError


def start_problems(config: RunConfig) -> dict[str, str]:
    """Dotted key -> what is wrong with a start value that is outside its bounds, one line each.

    The first mutation would move it to the nearest bound, however far that is. Zero is "switched
    off", which PBT leaves alone. Without PBT there are no bounds.
    """
    if not config.pbt.enabled:
        return {}
    return {
        key: problem
        for key, row, value in _values(config)
        if (problem := _problem(config, key, row, value)) is not None
    }


def check_start_values(config: RunConfig, source: str) -> None:
    """Raises: ConfigError with every start value that is outside its bounds."""
    if problems := start_problems(config):
        raise ConfigError(source, list(problems.values()))


def _values(config: RunConfig) -> Iterator[tuple[str, HyperparamSpec, float]]:
    """(dotted key, row, value) of all that are set, for the algorithms that the config names."""
    rows = {row.name: row for name in config.algorithms for row in rows_of(name)}.values()
    for row in rows:
        yield row.key, row, getattr(getattr(config, row.section), row.name)
    shaping = {SHAPING.key: config.learning.shaping}
    for name, override in config.members.items():
        for row in rows:
            if (value := getattr(override, row.name)) is not None:
                yield f"members.{name}.{row.name}", row, value
        shaping[f"members.{name}.{SHAPING.name}"] = override.shaping
    for place, terms in shaping.items():
        yield from ((f"{place}.{term}", SHAPING, weight) for term, weight in terms.items())


def _problem(config: RunConfig, key: str, row: HyperparamSpec, value: float) -> str | None:
    """What is wrong with a start value, None for nothing."""
    low, high = getattr(config.pbt, row.bounds_key)
    # The distance of 0.999 to 1 is a little more than 0.001.
    if value == 0.0 or low * (1 - 1e-9) <= row.size(value) <= high * (1 + 1e-9):
        return None
    least, most = sorted(row.of_size(end, abs(value)) for end in (low, high))
    expected = f"{least:g} to {most:g}" + (" in size" if value < 0.0 else "")
    return (
        f"{key} = {value:g}: outside pbt.{row.bounds_key} = [{low:g}, {high:g}], so the first "
        f"mutation would make it jump; expected {expected}; change it or the bounds"
    )
