"""What is said of short real trainings: one that learns, and one with a planted fault."""

import json
from pathlib import Path

import pytest

from arena.cli.app import run
from tests.arena.training.test_useless_numbers import GAME

Output = pytest.CaptureFixture[str]
CONFIG = """
seed = 3
stop_at_frames = 8192
env = { name = "./count.py:make" }
population = { members = 2 }
model = { hidden = [16] }
sampling = { environments = 16, rollout_steps = 8 }
learning = { batch_steps = 256, epochs = 2, minibatches = 1, learning_rate = 1e-2 }
pbt = { enabled = false }
snapshots = { every_frames = 1024 }
evaluation = { share = 0.3, final_games = 80 }
runtime = { placement = "serial" }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARENA_DATA", str(tmp_path / "data"))
    (tmp_path / "count.py").write_text(GAME)
    (tmp_path / "count.toml").write_text(CONFIG)
    return tmp_path


def test_a_one_seat_training_that_learns_says_so_in_its_own_unit(capsys: Output) -> None:
    """Four of eight steps are right by chance, and eight can be."""
    assert run(["train", "count.toml"]) == 0
    told = capsys.readouterr().err
    said = next(line for line in told.splitlines() if line.startswith("count: "))
    assert said.startswith("count: finished; learned: mean return +"), told
    assert "Elo" not in said and "random" not in said
    assert run(["status", "count"]) == 0
    assert said.removeprefix("count: ") in capsys.readouterr().out.splitlines()
    assert run(["status", "count", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["assessment"]
    assert shown == {"conclusion": "learning", "sentence": said.removeprefix("count: ")}


def test_a_training_that_refuses_updates_is_broken(capsys: Output) -> None:
    words = [
        *("learning.reward_scale=1e12", "learning.normalize_returns=false", "stop_at_frames=1024"),
        "env.options={ wrong = 'rich' }",
    ]
    assert run(["train", "count.toml", *(x for word in words for x in ("--set", word))]) == 1
    told = capsys.readouterr().err
    said = next(line for line in told.splitlines() if line.startswith("count: "))
    assert said.startswith("count: broken: m0: 8 of 8 updates were refused"), told
    assert "and 1 fault more" in said and "16 of 16 updates refused" in said
