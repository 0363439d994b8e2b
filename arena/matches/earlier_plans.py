"""A comparison that an earlier version began goes on by the rules of that time.

All its runs are trained alike, so a key that the user does not set keeps the value that it had when
the comparison was begun, whatever the default is now.
"""

import json
from dataclasses import replace
from typing import Any

from arena.matches.compare import SIDES, Comparison, Contestant
from pbt.config.dump import toml_value
from pbt.config.stored import config_as_stored
from pbt.config.values import Section
from pbt.errors import PbtError


def as_begun(comparison: Comparison) -> Comparison:
    """The comparison with the rules that it began with. Raises: PbtError for a damaged file."""
    if not comparison.path.exists():
        return comparison
    try:
        configs = json.loads(comparison.path.read_bytes())["plan"]["configs"]
        contestants = {
            side: _by_rules_of(comparison.contestants[side], configs[side]) for side in SIDES
        }
    except (ValueError, KeyError, TypeError) as error:
        raise PbtError(
            f"{comparison.path}: damaged ({error!r}); remove it and train under another name"
        ) from error
    return replace(comparison, contestants=contestants)


def _by_rules_of(contestant: Contestant, stored: dict[str, Any]) -> Contestant:
    """The contestant with what held when it was begun, for keys that its own config leaves out.

    Defaults change from version to version, and its runs go on by those that they began with.
    """
    config, arguments = contestant.config, contestant.arguments
    before = config_as_stored(stored, f"stored config {contestant.label}")
    for section in type(config).model_fields:
        own, held = getattr(config, section), getattr(before, section)
        if not isinstance(own, Section):
            continue
        differing = {
            key: getattr(held, key)
            for key in type(own).model_fields
            if key not in own.model_fields_set and getattr(own, key) != getattr(held, key)
        }
        # A value that is open (None) cannot be named, and stays as it is.
        changed = {key: value for key, value in differing.items() if value is not None}
        config = config.model_copy(update={section: own.model_copy(update=changed)})
        for key in changed:
            plain = held.model_dump(mode="json")[key]
            arguments = (*arguments, "--set", f"{section}.{key}={toml_value(plain)}")
    return replace(contestant, config=config, arguments=arguments)
