"""The config with which a new population begins as another one did."""

from collections.abc import Mapping
from typing import Any

from pbt.config.schema import RunConfig
from pbt.config.semantics import member_number


def clone_table(config: RunConfig, roles: Mapping[str, str]) -> dict[str, Any]:
    """The config of a population, for a new one of as many members, as a table.

    Members of the new one begin with new weights, and are counted anew from m0: none has joined or
    left. Values of single members are those of members that were there from the start and still
    play.

    roles  member -> role of all members there ever were
    """
    table = config.model_dump(mode="json")
    in_role: dict[str, list[str]] = {}
    for name in sorted(roles, key=member_number):
        in_role.setdefault(roles[name], [])
        if name not in config.population.left:
            in_role[roles[name]].append(name)
    # New names are counted through the roles, in the order in which the first members were.
    counted = [name for names in in_role.values() for name in names]
    counts = {role: len(names) for role, names in in_role.items()}
    table["population"] = {"members": _members(config, counts)}
    table["members"] = {
        f"m{number}": table["members"][name]
        for number, name in enumerate(counted)
        if name in table["members"] and name not in config.population.joined
    }
    return table


def _members(config: RunConfig, counts: Mapping[str, int]) -> int | dict[str, int]:
    """How many members per role, a number where one says it."""
    if isinstance(config.population.members, int) and len(set(counts.values())) == 1:
        return next(iter(counts.values()))
    return dict(counts)
