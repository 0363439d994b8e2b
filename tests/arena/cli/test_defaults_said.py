"""`arena train` says what a config left to the defaults, and keeps what it said."""

import json
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.stored_history import list_events
from arena.training.start import first_start
from pbt.config.load import load_config

TOML = """
stop_at_frames = 200
env = { name = "tictactoe" }
population = { members = 1 }
model = { hidden = [8] }
sampling = { environments = 4, rollout_steps = 8 }
learning = { batch_steps = 64 }
evaluation = { final_games = 0 }
runtime = { placement = "serial" }
"""


def test_what_is_left_to_the_defaults_is_said_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "mine.toml"
    config.write_text(TOML, encoding="utf-8")
    assert run(["train", str(config), "--data", str(tmp_path / "data"), "--json"]) == 0
    printed = capsys.readouterr()
    (line,) = [line for line in printed.err.splitlines() if line.startswith("by default ")]
    assert "learning.epochs = 10" in line and "learning.batch_steps" not in line
    assert json.loads(printed.out)["defaults"] == {
        "model.activation": "tanh",
        "learning.epochs": 10,
        "learning.minibatches": 1,
        "learning.learning_rate": 5e-4,
        "learning.entropy_coef": 1e-3,
        "learning.gamma": 0.99,
        "learning.gae_lambda": 0.95,
        "learning.normalize_returns": True,
    }
    with open_league(league_path(tmp_path / "data"), read_only=True) as league:
        events = [stored.event for stored in list_events(league, "mine")]
    assert [event.text for event in events if event.kind == "defaults"] == [line]


def test_a_shipped_config_leaves_nothing_to_say() -> None:
    """Its values were chosen for its game."""
    assert not first_start(load_config("demo"), "demo").defaults
