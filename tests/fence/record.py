"""Writes `public.json`: everything of the program that its users hold on to.

The file in the repository was recorded from the tree of commit 383d2e1. It is not recorded anew
when something is removed or renamed: that is entered in `tests/fence/test_public.py`. The functions
for scripts (docs/python.md) were added to `imports` when they came. It was made by::

    cd /tmp && PYTHONPATH=/tmp/old:/path/to/this/checkout python -m tests.fence.record OUT.json

where `/tmp/old` is a checkout of the commit (its libraries compiled: `python hatch_build.py`).
"""

import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from arena.league.database import upgrade_league
from tests.fence import answers, program, schemas, sources

HERE = Path(__file__).resolve().parent
STORED = HERE / "stored.tar.xz"
STORED_2 = HERE / "stored_2.tar.xz"
PUBLIC = HERE / "public.json"

Lists = dict[str, set[str]]


def unpack(folder: Path, stored: Path = STORED) -> None:
    """The stored data directory: `data` and `beside` in this folder.

    Its league is upgraded, as by the first command that writes.
    """
    with tarfile.open(stored) as archive:
        archive.extractall(folder, filter="data")
    upgrade_league(folder / "data" / "league.db")


@contextmanager
def stored_data() -> Iterator[None]:
    """Work in a folder of its own that holds the stored data."""
    with tempfile.TemporaryDirectory() as folder:
        unpack(Path(folder))
        with chdir(folder):
            yield


def quick() -> Lists:
    """What takes seconds. In the folder of the stored data."""
    printed = answers.json_keys(answers.QUICK)
    return {
        "commands": program.options(),
        "config keys": schemas.config_keys(),
        "entry points": sources.entry_points(),
        "event kinds": sources.event_kinds(),
        "files": answers.files("fresh"),
        "game options": sources.options(),
        "imports": sources.imports(),
        "json keys": printed,
        "league columns": answers.league(),
        "match report": schemas.match_fields(),
        "metrics": sources.prometheus() | answers.curves("fresh"),
        "names": sources.names(),
        "openapi": schemas.openapi(),
        "variables": sources.variables(),
    }


def slow() -> Lists:
    """What needs a service that trains, or Doom. In the folder of the stored data."""
    with answers.service():
        printed = answers.json_keys(answers.SERVED)
    printed |= answers.json_keys(answers.SLOW)
    return {"json keys": printed, "metrics": answers.curves("doomed")}


def uncalled(commands: set[str]) -> set[str]:
    """Commands with `--json` that no call covers."""
    calls = (*answers.QUICK, *answers.SERVED, *answers.SLOW)
    return program.json_commands(commands) - {f"arena {name.split(',')[0]}" for name in calls}


def _sorted(lists: Lists) -> dict[str, list[str]]:
    return {name: sorted(items) for name, items in lists.items()}


def main() -> None:
    with stored_data():
        found = {"quick": quick(), "slow": slow()}
    if missed := ", ".join(sorted(uncalled(found["quick"]["commands"]))):
        raise SystemExit(f"no call of {missed}; add one to tests/fence/answers.py")
    plain = {part: _sorted(lists) for part, lists in found.items()}
    Path(sys.argv[1]).write_text(json.dumps(plain, indent=0) + "\n")


if __name__ == "__main__":
    main()
