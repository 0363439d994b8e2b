"""`arena.train` and `arena.resume`, in scripts: callbacks, stops, interrupts, errors."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import arena
from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.summaries import list_populations
from arena.python.aside import Aside
from arena.python.training_result import TrainingResult
from arena.signals import TrainingControl
from arena.training.train import start_training
from pbt.config.load import config_from_table
from tests.arena.python.tiny import CONFIG, ENDLESS

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Hash over the weights of a training in the main thread that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    result = start_training(config_from_table(CONFIG, "a test"), "run", folder, lambda _: None)
    assert result.finished
    return result.weights_sha256


def saved(data: Path, name: str) -> bool:
    """Whether there is a checkpoint, besides the one of the first frame."""
    return len(list(population_paths(data, name).checkpoints.iterdir())) > 1


def state(data: Path, name: str) -> str:
    with open_league(league_path(data), read_only=True) as league:
        return next(one.state for one in list_populations(league) if one.name == name)


def test_it_tells_all_and_leaves_the_process_as_it_was(tmp_path: Path, whole: str) -> None:
    told: dict[str, list[Any]] = {name: [] for name in ("update", "game", "round", "event")}
    threads: set[threading.Thread] = set()

    def into(name: str) -> Callable[[Any], None]:
        def listen(one: Any) -> None:
            told[name].append(one)
            threads.add(threading.current_thread())

        return listen

    handlers = [signal.getsignal(number) for number in SIGNALS]
    log = logging.getLogger("arena")
    before = (log.handlers, log.level, log.propagate, torch.get_num_threads())
    result = arena.train(
        CONFIG,
        "run",
        data=tmp_path,
        on_update=into("update"),
        on_game=into("game"),
        on_round=into("round"),
        on_event=into("event"),
    )
    assert [signal.getsignal(number) for number in SIGNALS] == handlers
    assert (log.handlers, log.level, log.propagate, torch.get_num_threads()) == before
    assert result.finished and result.weights_sha256 == whole
    assert threads == {threading.current_thread()}
    view = arena.league(tmp_path)
    assert len(told["update"]) == sum(member.updates for member in result.members)
    assert told["game"] == view.games("run"), "every game, as the league has it"
    assert told["round"] == view.rounds("run") != []
    assert "checkpoint" in {event.kind for event in told["event"]}
    assert result.training_games + result.evaluation_games == len(told["game"])
    assert told["update"][0].record.keys() > {"member", "frames", "policy_loss"}


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path: Path, whole: str) -> None:
    updates: list[Any] = []
    stopped = arena.train(
        CONFIG, "run", data=tmp_path, on_update=updates.append, stop=lambda: len(updates) >= 3
    )
    assert not stopped.finished and 3 <= len(updates) < 8
    assert arena.resume("run", data=tmp_path).weights_sha256 == whole


def test_it_trains_in_any_thread_and_another_one_stops_it(tmp_path: Path) -> None:
    control, begun = arena.TrainingControl(), threading.Event()
    results: list[TrainingResult] = []

    def train() -> None:
        results.append(
            arena.train(
                ENDLESS,
                "run",
                data=tmp_path,
                stop=control,
                on_update=lambda update: begun.set(),
            )
        )

    thread = threading.Thread(target=train)
    thread.start()
    assert begun.wait(120)
    control.stop()
    thread.join(120)
    assert [result.finished for result in results] == [False] and saved(tmp_path, "run")


@pytest.mark.parametrize("heard", ["on_update", "on_game", "on_round", "on_progress", "stop"])
def test_an_exception_of_the_caller_saves_and_is_raised(tmp_path: Path, heard: str) -> None:
    calls: list[object] = []

    def fails(*told: object) -> bool:
        calls.append(told)
        raise ZeroDivisionError("the caller's own")

    with pytest.raises(ZeroDivisionError, match="the caller's own"):
        arena.train(ENDLESS, "run", data=tmp_path, **{heard: fails})
    assert len(calls) == 1, "none is called after it"
    assert saved(tmp_path, "run") and state(tmp_path, "run") == "stopped"


def test_an_interrupt_saves_and_returns(tmp_path: Path, whole: str) -> None:
    calls: list[object] = []

    def interrupted(update: object) -> None:
        calls.append(update)
        if len(calls) == 3:
            raise KeyboardInterrupt

    result = arena.train(CONFIG, "run", data=tmp_path, on_update=interrupted)
    assert not result.finished and saved(tmp_path, "run")
    assert arena.resume("run", data=tmp_path).weights_sha256 == whole


def test_ctrl_c_reaches_the_caller_and_stops_the_training(tmp_path: Path) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    result = arena.train(
        ENDLESS,
        "run",
        data=tmp_path,
        on_update=lambda update: None if timer.ident else timer.start(),
    )
    timer.join()
    assert not result.finished and saved(tmp_path, "run")


class Cut(Aside[int]):
    """A training that the second interrupt ends just before it says that it is over."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "_ended" and value is True:
            raise KeyboardInterrupt
        super().__setattr__(name, value)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_training_that_cannot_say_its_end_is_over() -> None:
    assert Cut(TrainingControl()).run(lambda: 3) == 3


def test_a_training_whose_caller_is_gone_saves() -> None:
    control = TrainingControl()
    aside = Aside[int](control)
    caller = threading.Thread(target=lambda: None)
    caller.start()
    caller.join()
    aside._caller = caller
    aside.here(print)("to a caller that is gone")
    assert control.stop_requested()


class Hanging(TrainingControl):
    """A control by which the training hangs, once it was told to, and interrupts its caller."""

    def __init__(self) -> None:
        super().__init__()
        self.hangs, self.asked = threading.Event(), threading.Semaphore(0)

    def stop(self) -> None:
        super().stop()
        self.asked.release()

    def stop_requested(self) -> bool:
        if self.hangs.is_set():
            self.hangs.clear()  # it hangs once: later signals would reach another test
            os.kill(os.getpid(), signal.SIGINT)
            assert self.asked.acquire(timeout=60)
            os.kill(os.getpid(), signal.SIGINT)
            ends = time.monotonic() + 60
            while time.monotonic() < ends:
                time.sleep(0.01)
        return super().stop_requested()


def test_the_second_interrupt_ends_it_at_once(tmp_path: Path) -> None:
    control = Hanging()
    with pytest.raises(KeyboardInterrupt):
        arena.train(
            ENDLESS,
            "run",
            data=tmp_path,
            stop=control,
            on_update=lambda update: control.hangs.set(),
        )
    assert state(tmp_path, "run") == "interrupted"


def test_the_import_is_cheap() -> None:
    code = (
        "import sys, arena; loaded = {'torch', 'numpy', 'sqlalchemy'} & set(sys.modules); "
        "assert not loaded, loaded; assert 'train' in dir(arena); arena.league; arena.rate; "
        "assert 'torch' not in sys.modules; assert callable(arena.league)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        arena.nonsense  # noqa: B018
    assert {"train", "league", "rate"} <= set(dir(arena))
