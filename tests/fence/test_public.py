"""Nothing that users hold on to goes away or gets another name unless CHANGELOG.md says so.

What they hold on to stands in `public.json`, recorded by `record.py` from the tree of 383d2e1.
Additions are free. A removal is entered in REMOVED, and stays there.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import chdir
from pathlib import Path

import pytest

from tests.fence import record
from tests.fence.record import Lists

Stored = Mapping[str, Sequence[str]]
Removed = Mapping[str, str]

NAMED = (
    "Players of a match and places of a problem have their fields by name in the OpenAPI document."
)
VERIFY = "`arena rounds verify` is called `arena verify` and verifies everything."
REMOVED: Removed = {
    **dict.fromkeys(
        (
            "commands: arena rounds verify",
            "commands: arena rounds verify --data",
            "commands: arena rounds verify --json",
            "commands: arena rounds verify <argument 1>",
            "json keys: arena rounds verify: copies",
            "json keys: arena rounds verify: differences",
            "json keys: arena rounds verify: games_read",
            "json keys: arena rounds verify: ok",
            "json keys: arena rounds verify: population",
            "json keys: arena rounds verify: rounds",
            "json keys: arena rounds verify: scores",
            "json keys: arena rounds verify: scores_folded",
        ),
        VERIFY,
    ),
    "openapi: schema CodeBody": "The schema `CodeBody` of a login is called `LoginBody`.",
    **dict.fromkeys(
        (
            "openapi: GET /v1/matches 200: items[].players[].*",
            "openapi: GET /v1/matches/{match_id} 200: players[].*",
            "openapi: problem: errors[].*",
        ),
        NAMED,
    ),
}
"""What is gone or renamed, as "list: item" -> the words of CHANGELOG.md that tell users.

For example: {"metrics: curve kl": "The curve `kl` is called `kl_divergence`."}
"""
ADVICE = """
What is missing: bring it back under its old name. Where it is meant to go, say so in CHANGELOG.md,
with what takes its place, and enter it in REMOVED of tests/fence/test_public.py with those words.
"""


def flat(lists: Mapping[str, Collection[str]]) -> set[str]:
    """Every item, with the name of its list."""
    return {f"{name}: {item}" for name, items in lists.items() for item in items}


def differences(stored: Stored, today: Lists, removed: Removed, changelog: str) -> list[str]:
    """One line for each item that is missing without a word, or entered wrongly in `removed`."""
    before, now = flat(stored), flat(today)
    told = " ".join(changelog.split())
    missing = sorted(before - now - removed.keys())
    unsaid = sorted(item for item, words in removed.items() if " ".join(words.split()) not in told)
    return [
        *(f"{item} is missing" for item in missing),
        *(f"{item} is in REMOVED, but is there" for item in sorted(removed.keys() & now)),
        *(f"{item} is in REMOVED, and CHANGELOG.md lacks its words" for item in unsaid),
    ]


def check(part: str, today: Lists, repository: Path) -> None:
    """Hold today's lists against those of `public.json`."""
    everything = json.loads(record.PUBLIC.read_text())
    known = {name: flat(lists) for name, lists in everything.items()}
    unknown = REMOVED.keys() - set().union(*known.values())
    removed = {item: words for item, words in REMOVED.items() if item in known[part]}
    changelog = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    found = [f"{item} is in REMOVED, and never was there" for item in sorted(unknown)]
    found += differences(everything[part], today, removed, changelog)
    assert not found, "\n".join([*found, ADVICE])


def test_nothing_that_users_hold_on_to_is_gone(tmp_path: Path, repository: Path) -> None:
    record.unpack(tmp_path)
    with chdir(tmp_path):
        today = record.quick()
    check("quick", today, repository)


@pytest.mark.slow
def test_nor_is_what_a_service_and_doom_tell(tmp_path: Path, repository: Path) -> None:
    record.unpack(tmp_path)
    with chdir(tmp_path):
        today = record.slow()
    check("slow", today, repository)


# --- the comparison itself -----------------------------------------------------------------------

STORED = {"metrics": ["curve kl", "curve entropy"], "names": ["program arena"]}
SAID = {"metrics: curve kl": "The curve `kl` is gone."}


def test_what_is_there_and_what_is_new_passes() -> None:
    today = {"metrics": {"curve kl", "curve entropy", "curve new"}, "names": {"program arena"}}
    assert not differences(STORED, {**today, "new list": {"item"}}, {}, "")


@pytest.mark.parametrize("curves", [{"curve entropy"}, {"curve entropy", "curve kl_divergence"}])
def test_a_missing_or_renamed_item_is_named(curves: set[str]) -> None:
    (found,) = differences(STORED, {"metrics": curves, "names": {"program arena"}}, {}, "")
    assert found == "metrics: curve kl is missing"


def test_a_missing_list_is_all_its_items() -> None:
    (found,) = differences(STORED, {"metrics": {"curve kl", "curve entropy"}}, {}, "")
    assert found == "names: program arena is missing"


def test_a_removal_that_users_are_told_of_passes() -> None:
    today = {"metrics": {"curve entropy"}, "names": {"program arena"}}
    assert not differences(STORED, today, SAID, "- Curves: The curve\n  `kl` is gone. Others stay.")


def test_a_removal_that_users_are_not_told_of_fails() -> None:
    today = {"metrics": {"curve entropy"}, "names": {"program arena"}}
    assert "CHANGELOG.md lacks" in differences(STORED, today, SAID, "The curve is gone.")[0]


def test_a_removal_that_did_not_happen_fails() -> None:
    today = {"metrics": {"curve entropy", "curve kl"}, "names": {"program arena"}}
    assert "but is there" in differences(STORED, today, SAID, SAID["metrics: curve kl"])[0]
