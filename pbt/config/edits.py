"""Edits of the config of a population that has started: they are told what cannot be edited first.

A contradiction among the values of the stored config and an edit is told in words for a config that
a person writes. Where the edit cannot be taken at all, these words give advice that leads nowhere.
"""

from collections.abc import Sequence

from pbt.config.load import overriding_values
from pbt.config.resume import fixed, flat_values, is_editable
from pbt.config.schema import RunConfig
from pbt.config.stored import config_as_stored
from pbt.errors import ConfigError

_GIVEN = "--set "


def edited_config(before: RunConfig, source: str, overrides: Sequence[str]) -> RunConfig:
    """The config of a started population with edits.

    Where it contradicts itself, and edits are among those that no started population takes, these
    are what is told, with what is wrong with the other edits.

    overrides  as --set takes them
    Raises: ConfigError with every problem.
    """
    try:
        return config_as_stored(before.model_dump(mode="json"), source, overrides)
    except ConfigError as error:
        refused = _fixed(before, overrides)
        if not refused:
            raise
        others = [
            problem
            for problem in error.problems
            if problem.startswith(_GIVEN)
            and problem.removeprefix(_GIVEN).partition(" ")[0] not in refused
        ]
        raise ConfigError(source, [*refused.values(), *others]) from None


def _fixed(before: RunConfig, overrides: Sequence[str]) -> dict[str, str]:
    """Key -> why it is refused, of edits that change a key which is fixed."""
    stored = flat_values(before.model_dump(mode="json"))
    return {
        key: fixed(key, stored[key], value)
        for key, value in flat_values(overriding_values(overrides)).items()
        if key in stored and not is_editable(key) and stored[key] != value
    }
