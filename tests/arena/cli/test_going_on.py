"""Work that takes long says that it goes on; a start that is interrupted ends at once."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from arena.cli import going_on
from arena.cli.app import run
from arena.cli.going_on import GoingOn

CONFIG = """
stop_at_frames = 200_000
env = { name = "rock_paper_scissors" }
population = { members = 2 }
runtime = { placement = "inline", workers = 1 }
"""
GAME = """
import time
from pbt.envs.tiny.rock_paper_scissors import SPEC
def make():
    game = SPEC.make()
    step = game.step
    def slow(actions):
        time.sleep(0.01)
        return step(actions)
    game.step = slow
    return game
"""


def test_it_is_said_again_and_again_until_the_work_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(going_on, "FIRST_S", 0.001)
    said: list[str] = []
    twice = threading.Event()

    def tell(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            twice.set()

    with GoingOn(lambda: f"work {len(said)}", tell):
        assert twice.wait(60)
    assert said[:2] == ["work 0 (0 s so far)", "work 1 (0 s so far)"]


def test_a_check_says_which_game_it_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(going_on, "FIRST_S", 0.02)
    (tmp_path / "game.py").write_text(GAME)
    assert run(["env", "check", f"{tmp_path}/game.py:make", "--seeds", "2", "--json"]) == 0
    assert "game.py:make: game 2 of 2" in capsys.readouterr().err


def test_a_verification_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", str(tmp_path)]
    assert run(["match", "random", "random", "--env", "tictactoe", "--games", "100", *data]) == 0
    capsys.readouterr()
    monkeypatch.setattr(going_on, "FIRST_S", 0.001)
    assert run(["verify", "match:1", *data, "--json"]) == 0
    assert "verifying match:1: " in capsys.readouterr().err


def test_a_start_that_is_interrupted_waits_for_no_process(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(CONFIG)
    command = [sys.executable, "-P", "-m", "arena", "train", "my.toml"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "placement" in line or "inline" in line:
                break
        os.kill(process.pid, signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(60) == 0
    assert "arena train --resume my" in said
    checkpoints = tmp_path / "arena-data" / "populations" / "my" / "checkpoints"
    assert [folder.name for folder in sorted(checkpoints.iterdir())] == ["00000001"]
