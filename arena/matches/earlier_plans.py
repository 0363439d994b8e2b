"""A comparison that an earlier version began goes on by the rules of that time.

All its runs are trained alike, so a key that the stored plan lacks keeps the value that held before
the key existed, where the user does not set it.
"""

import json
from dataclasses import replace
from typing import Any

from arena.matches.compare import SIDES, Comparison, Contestant
from pbt.config.load import HELD_BEFORE
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
            f"{comparison.path}: damaged ({error!r}); remove it and train under another --name"
        ) from error
    return replace(comparison, contestants=contestants)


def _by_rules_of(contestant: Contestant, stored: dict[str, Any]) -> Contestant:
    """The contestant with what held before, for keys that its stored config lacks."""
    config, arguments = contestant.config, contestant.arguments
    for section, key, value in HELD_BEFORE:
        own = getattr(config, section)
        is_open = getattr(own, key) == type(own).model_fields[key].default
        if is_open and key not in stored[section] and getattr(own, key) != value:
            config = config.model_copy(update={section: own.model_copy(update={key: value})})
            arguments = (*arguments, "--set", f"{section}.{key}={value}")
    return replace(contestant, config=config, arguments=arguments)
