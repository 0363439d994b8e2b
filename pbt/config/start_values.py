"""The values that members begin with, and whether PBT may change them from there."""

from collections.abc import Iterator

from pbt.config.learning import HYPERPARAMS, LearningConfig
from pbt.config.mutable import SHAPING
from pbt.config.population import MemberOverride
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError


def start_problems(config: RunConfig) -> dict[str, str]:
    """Dotted key -> what is wrong with a start value that is outside its bounds, one line each.

    The first mutation would move it to the nearest bound, however far that is. Zero is "switched
    off", which PBT leaves alone. Without PBT there are no bounds.
    """
    if not config.pbt.enabled:
        return {}
    sections: dict[str, LearningConfig | MemberOverride] = {"learning": config.learning}
    sections |= {f"members.{name}": override for name, override in config.members.items()}
    return {
        f"{place}.{name}": problem
        for place, section in sections.items()
        for name, value in _values(section)
        if (problem := _problem(config, f"{place}.{name}", name, value)) is not None
    }


def check_start_values(config: RunConfig, source: str) -> None:
    """Raises: ConfigError with every start value that is outside its bounds."""
    if problems := start_problems(config):
        raise ConfigError(source, list(problems.values()))


def _values(section: LearningConfig | MemberOverride) -> Iterator[tuple[str, float]]:
    """(name, value) of all that are set."""
    plain = ((name, getattr(section, name)) for name in HYPERPARAMS)
    yield from ((name, value) for name, value in plain if value is not None)
    yield from ((f"shaping.{term}", weight) for term, weight in section.shaping.items())


def _problem(config: RunConfig, key: str, name: str, value: float) -> str | None:
    """What is wrong with a start value, None for nothing."""
    row = HYPERPARAMS.get(name, SHAPING)
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
