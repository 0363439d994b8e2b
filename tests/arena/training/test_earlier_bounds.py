"""A population with numbers that were allowed when it began, and are too large by now."""

from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.stored_history import list_events
from arena.training.train import resume_training, start_training
from pbt.config.load import config_from_table

CONFIG: dict[str, Any] = {
    "stop_at_frames": 600,
    "env": {"name": "tictactoe"},
    "population": {"members": 2},
    "model": {"hidden": [16]},
    "sampling": {"environments": 8, "rollout_steps": 8},
    "learning": {"batch_steps": 128, "minibatches": 1, "epochs": 1},
    "evaluation": {"share": 0.2, "final_games": 2},
    "runtime": {"placement": "serial"},
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Its population was trained with a coefficient of 500."""
    config = config_from_table(CONFIG, "test")
    learning = config.learning.model_copy(update={"value_coef": 500.0})
    start_training(
        config.model_copy(update={"learning": learning}), "one", tmp_path, lambda _: None
    )
    return tmp_path


def told(data: Path) -> list[str]:
    with open_league(league_path(data), read_only=True) as league:
        return [row.event.text for row in list_events(league, "one")]


def test_it_goes_on_with_a_warning(data: Path) -> None:
    said: list[str] = []
    result = resume_training("one", data, ["stop_at_frames=1200"], lambda _: None, said.append)
    assert result.finished
    (warning,) = [line for line in told(data) if "value_coef" in line]
    assert "learning.value_coef = 500.0" in warning and "0 to 100" in warning
    assert "`arena train --resume one --set learning.value_coef=" in warning
    assert any("value_coef" in line for line in said)
    # Whatever else reads its config.
    for words in (["league", "one"], ["match", "one@best", "random", "--games", "4"]):
        assert run([*words, "--data", str(data)]) == 0
    assert run(["verify", "one", "--data", str(data)]) == 0


def test_the_advice_ends_the_warning(data: Path) -> None:
    words = ["stop_at_frames=1200", "learning.value_coef=100"]
    assert resume_training("one", data, words, lambda _: None).finished
    assert not [line for line in told(data) if "by now" in line]
    assert any("edited learning.value_coef: 500.0 -> 100.0" in line for line in told(data))


def test_processes_of_a_training_take_it_as_well(data: Path) -> None:
    words = ["stop_at_frames=1200", "runtime.placement=inline", "runtime.workers=1"]
    assert resume_training("one", data, words, lambda _: None).finished
