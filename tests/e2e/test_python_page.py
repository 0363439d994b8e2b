"""docs/python.md: its blocks are one script that runs as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import arena
from tests.e2e.readme_parts import ROOT, blocks

PAGE = ROOT / "docs/python.md"
FILE = "# my_game.py\n"


@pytest.mark.timeout(600)
def test_every_block_runs(tmp_path: Path) -> None:
    parts = blocks(PAGE, "python")
    (game,) = (part for part in parts if part.startswith(FILE))
    (tmp_path / "my_game.py").write_text(game)
    script = "\n".join(part for part in parts if part != game)
    (tmp_path / "page.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ARENA_DATA": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "page.py"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=570,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "it prints what the blocks print, and nothing else"
    assert (tmp_path / "ratings.csv").read_text().startswith("table,objective,rank,player")


def test_the_page_names_every_function() -> None:
    text = PAGE.read_text(encoding="utf-8")
    functions = [name for name in dir(arena) if name in arena._EXPORTED and name.islower()]
    assert not [name for name in [*functions, "league"] if f"arena.{name}" not in text]
    returned = re.findall(r"\| `(\w+)` \| `", text)
    assert {*returned, "LeagueView"} >= {
        name for name in arena._EXPORTED if name.endswith("Result") or name == "Ratings"
    }
