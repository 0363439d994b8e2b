"""The config of a clone: as many members of each role, none of whom joined or left."""

from typing import Any

from pbt.config.clone import clone_table
from pbt.config.load import config_from_table


def cloned(roles: dict[str, str], **changed: Any) -> dict[str, Any]:
    table = {"env": {"name": "mpe:simple_tag"}, **changed}
    return clone_table(config_from_table(table, "test"), roles)


def test_members_are_counted_by_role() -> None:
    roles = {"m0": "adversary", "m1": "adversary", "m2": "agent", "m3": "agent"}
    whole = cloned(roles, population={"members": 2})
    assert whole["population"] == {"members": 2} and whole["members"] == {}
    joined = {"m4": {"role": "adversary", "weights": "m0"}}
    grown = cloned(
        {**roles, "m4": "adversary"}, population={"members": 2, "joined": joined, "left": ["m2"]}
    )
    assert grown["population"] == {"members": {"adversary": 3, "agent": 1}}


def test_values_of_single_members_follow_them() -> None:
    """The first role keeps its place also where a later member is all that is left of it."""
    table = cloned(
        {"m0": "adversary", "m1": "agent", "m2": "agent", "m3": "adversary"},
        population={"members": 2, "joined": {"m3": {"role": "adversary"}}, "left": ["m0"]},
        members={"m2": {"learning_rate": 0.002}, "m3": {"learning_rate": 0.003}},
        pbt={"enabled": False},
    )
    assert table["population"] == {"members": {"adversary": 1, "agent": 2}}
    assert {name: one["learning_rate"] for name, one in table["members"].items()} == {"m2": 0.002}
