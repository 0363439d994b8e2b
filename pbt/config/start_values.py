"""The values that members begin with, and whether PBT may change them from there."""

from collections.abc import Iterator

from pbt.config.learning import LearningConfig
from pbt.config.population import MemberOverride
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError

_NAMES = ("learning_rate", "entropy_coef", "adam_beta1")


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
    plain = ((name, getattr(section, name)) for name in _NAMES)
    yield from ((name, value) for name, value in plain if value is not None)
    yield from ((f"shaping.{term}", weight) for term, weight in section.shaping.items())


def _problem(config: RunConfig, key: str, name: str, value: float) -> str | None:
    """What is wrong with a start value, None for nothing."""
    of_beta1 = name == "adam_beta1"
    bounds_of = "one_minus_adam_beta1" if of_beta1 else name.partition(".")[0]
    low, high = getattr(config.pbt, f"{bounds_of}_bounds")
    size = 1.0 - value if of_beta1 else abs(value)
    # The distance of 0.999 to 1 is a little more than 0.001.
    if value == 0.0 or low * (1 - 1e-9) <= size <= high * (1 + 1e-9):
        return None
    least, most = (1.0 - high, 1.0 - low) if of_beta1 else (low, high)
    expected = f"{least:g} to {most:g}" + (" in size" if value < 0.0 else "")
    return (
        f"{key} = {value:g}: outside pbt.{bounds_of}_bounds = [{low:g}, {high:g}], so the first "
        f"mutation would make it jump; expected {expected}; change it or the bounds"
    )
