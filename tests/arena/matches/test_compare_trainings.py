"""A training of a comparison that another process stops, while the comparison itself goes on."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from arena.data.lock import holder
from arena.data.paths import population_paths
from arena.league.requested_work import RequestedComparison
from arena.matches.compare import Comparison, Interrupted, read_kept
from arena.matches.compare_trainings import train_runs
from arena.programs.requested_comparison import comparison_of, write_configs
from pbt.errors import StoppedError

CONFIG = {
    "env": {"name": "tictactoe"},
    "population": {"members": 1},
    "model": {"hidden": [16]},
    "sampling": {"environments": 8, "rollout_steps": 16},
    "runtime": {"placement": "serial"},
}
LONG = 10**9


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    other = {**CONFIG, "learning": {"gamma": 0.5}}
    made = comparison_of(RequestedComparison("rates", CONFIG, other, LONG, 1, 2), tmp_path)
    write_configs(made)
    return made


def training(comparison: Comparison) -> int | None:
    """The pid of the process that trains the first run, once it has begun."""
    paths = population_paths(comparison.data, comparison.population("a", 1))
    return holder(paths.lock) if paths.status.exists() else None


def signal_when_it_trains(comparison: Comparison, *, own: bool) -> threading.Thread:
    """Ask the training to stop, or this process, which makes the comparison."""

    def wait() -> None:
        while (pid := training(comparison)) is None:
            time.sleep(0.05)
        os.kill(os.getpid() if own else pid, signal.SIGTERM)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_a_training_that_a_person_stops_is_told_with_how_to_go_on(comparison: Comparison) -> None:
    thread = signal_when_it_trains(comparison, own=False)
    with pytest.raises(StoppedError, match="rates-a1 was stopped") as raised:
        train_runs(comparison, lambda words: None)
    thread.join()
    assert "go" in str(raised.value) and "same" in str(raised.value)
    assert raised.value.exit_code == 130
    assert read_kept(comparison).seeds == 1, "the same comparison goes on"


def test_a_comparison_that_is_stopped_itself_says_nothing_of_a_person(
    comparison: Comparison,
) -> None:
    thread = signal_when_it_trains(comparison, own=True)
    with pytest.raises(Interrupted):
        train_runs(comparison, lambda words: None)
    thread.join()
