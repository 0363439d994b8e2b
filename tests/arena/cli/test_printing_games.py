"""What a game prints reaches neither results nor the display of a training."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena.data.output import FILE, MOST_BYTES, keep_small

GAME = """
import os, sys
from pbt.envs.tiny.rock_paper_scissors import SPEC
print("at the import")
os.write(1, b"from a library\\n")
def make():
    print("at the start")
    game = SPEC.make()
    step = game.step
    def loud(actions):
        print("at a step")
        print("an error of the game's", file=sys.stderr)
        os.write(2, b"an error of a library's\\n")
        os.system("echo from a program; echo an error of a program >&2")
        return step(actions)
    game.step = loud
    return game
"""
CONFIG = """
stop_at_frames = 200
env = { name = "./game.py:make" }
model = { hidden = [8] }
population = { members = 2 }
sampling = { environments = 2, rollout_steps = 8 }
learning = { batch_steps = 64 }
evaluation = { final_games = 0 }
runtime = { workers = 1 }
pbt = { enabled = false }
"""
AT_A_STEP = (
    "at a step",
    "an error of the game's",
    "an error of a library's",
    "from a program",
    "an error of a program",
)


def arena(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "arena", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "game.py").write_text(GAME)
    (tmp_path / "my.toml").write_text(CONFIG)
    return tmp_path


def test_a_check_has_results_of_its_own(folder: Path) -> None:
    done = arena(folder, "env", "check", "./game.py:make", "--seeds", "2", "--json")
    assert json.loads(done.stdout)["ok"]
    assert all(
        words in done.stderr
        for words in (*AT_A_STEP, "at the import", "from a library", "at the start")
    )


@pytest.mark.parametrize("placement", ["serial", "inline"])
def test_a_training_keeps_it_in_a_file(folder: Path, placement: str) -> None:
    done = arena(folder, "train", "my.toml", "--json", "--set", f"runtime.placement={placement}")
    assert json.loads(done.stdout)["finished"]
    logs = folder / "arena-data" / "populations" / "my" / "logs"
    printed = (logs / FILE).read_text()
    assert all(words in printed for words in AT_A_STEP)
    display = done.stderr.partition("placement ")[2]
    assert display and not any(words in display for words in AT_A_STEP)
    # Before its first frame a training has no folder yet.
    assert f"what its processes printed is in {logs / FILE}" in " ".join(done.stderr.split())


def test_the_file_begins_anew_when_it_is_too_large(tmp_path: Path) -> None:
    keep_small(tmp_path)
    file = tmp_path / FILE
    file.write_bytes(b"x" * MOST_BYTES)
    keep_small(tmp_path)
    assert file.stat().st_size == MOST_BYTES
    os.truncate(file, MOST_BYTES + 1)
    keep_small(tmp_path)
    assert file.stat().st_size == 0
