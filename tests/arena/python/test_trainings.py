"""`arena.train` and `arena.resume`, in scripts: callbacks, stops, interrupts, errors."""

import importlib
import json
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
from arena.python.configs import config_of, words_of
from arena.python.own_games import game_name
from arena.python.training_result import TrainingResult
from arena.signals import TrainingControl
from arena.training.train import start_training
from pbt.config.load import config_from_table
from pbt.errors import ConfigError, PlayerError

CONFIG: dict[str, Any] = {
    "seed": 3,
    "env": {"name": "tictactoe"},
    "stop_at_frames": 600,
    "population": {"members": 2},
    "model": {"hidden": [16]},
    "sampling": {"environments": 8, "rollout_steps": 8},
    "learning": {"batch_steps": 128, "epochs": 1},
    "pbt": {"period_frames": 300, "warmup_frames": 0},
    "snapshots": {"every_frames": 300},
    "evaluation": {"final_games": 8},
    "checkpoints": {"every_s": 3600.0},
    "runtime": {"placement": "serial"},
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Its end is far away: only a stop ends it.
ENDLESS = {**CONFIG, "stop_at_frames": 100_000_000}


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


def test_wrong_keys_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    wrong = {**CONFIG, "learning": {"gama": 1}, "population": {"members": 0}}
    with pytest.raises(ConfigError) as caught:
        arena.train(wrong, "run", data=tmp_path)
    assert any(text.startswith("learning.gama: unknown key") for text in caught.value.problems)
    assert any(text.startswith("population.members") for text in caught.value.problems)
    with pytest.raises(ConfigError, match="learning.gama: unknown key; did you mean gamma"):
        arena.train(CONFIG, "run", data=tmp_path, overrides={"learning.gama": 1})
    with pytest.raises(ConfigError, match="no config holds"):
        arena.train(CONFIG, "run", data=tmp_path, overrides={"learning.gamma": object()})
    with pytest.raises(ConfigError, match="a config without a file has none"):
        arena.train(CONFIG, data=tmp_path)
    given: dict[str, Any] = {"on_games": print}
    with pytest.raises(TypeError, match="arena.train has no keyword 'on_games'.*mean on_game"):
        arena.train(CONFIG, "run", data=tmp_path, **given)
    with pytest.raises(TypeError, match="arena.resume has no keyword 'on_games'"):
        arena.resume("run", data=tmp_path, **given)
    for name in ("stop", "on_update", "say"):
        given = {name: 5}
        with pytest.raises(ConfigError, match=f"arena.train.*\n.*{name}: found 5"):
            arena.train(CONFIG, "run", data=tmp_path, **given)
    kinds: list[Any] = [None, [1], 3]
    for kind in kinds:
        with pytest.raises(ConfigError, match="expected a file or a shipped config's name"):
            arena.train(kind, "run", data=tmp_path)
        with pytest.raises(ConfigError, match=r"overrides|name"):
            arena.train(CONFIG, "run" if kind else 3, data=tmp_path, overrides=kind)
    with pytest.raises(ConfigError, match="a list of words such as"):
        arena.train(CONFIG, "run", data=tmp_path, overrides="seed=2")
    with pytest.raises(ConfigError, match="\n  seed = -1"):
        arena.train(CONFIG, "run", data=tmp_path, seed=-1)
    with pytest.raises(PlayerError, match="no population 'run'"):
        arena.resume("run", data=tmp_path)
    assert not list(tmp_path.iterdir())


def test_configs_of_each_kind_are_the_same(tmp_path: Path) -> None:
    words = words_of({"learning.gamma": 0.5, "env": {"name": "connect_four"}}, {"seed": 9})
    assert words == ["learning.gamma=0.5", 'env.name="connect_four"', "seed=9"]
    file = tmp_path / "Mine.toml"
    file.write_text('seed = 1\n[env]\nname = "tictactoe"\n')
    table = {"seed": 1, "env": {"name": "tictactoe"}}
    config = arena.RunConfig.model_validate(table)
    found = [config_of(source, "run", words) for source in (file, str(file), table, config)]
    assert all(one == found[0] for one in found)
    assert (found[0][0].seed, found[0][0].learning.gamma) == (9, 0.5)
    assert config_of(file, None, ())[1] == "mine"
    assert config_of(config, "run", ())[0] == config


def test_an_override_is_any_value_of_a_config() -> None:
    given: dict[str, Any] = {
        "model.conv": [{"channels": 32, "kernel": 3}],
        "members.m0.schedule": [{"at_frames": 300, "entropy_coef": 0.02}],
        "pbt.enabled": False,
        "learning": {"learning_rate": 1e-5},
        "env.options": {},
    }
    table = {**CONFIG, "env": {"name": "tictactoe", "options": {"n": 3}}}
    config, _ = config_of(table, "run", words_of(given))
    assert [layer.channels for layer in config.model.conv] == [32]
    assert config.members["m0"].schedule[0].entropy_coef == 0.02
    assert config.learning.learning_rate == 1e-5 and config.learning.batch_steps == 128
    assert config.env.options == {}, "an empty table replaces the one of the config"
    assert words_of({"env.options": {"a key": "b"}}) == ['env.options."a key"="b"']
    for wrong in (None, [None], {"a": [1, {"b": None}]}):
        with pytest.raises(ConfigError, match=r"learning.value_clip.*None.*leave the key out"):
            words_of({"learning.value_clip": wrong})


def test_a_run_config_is_checked_and_its_files_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_game.py").write_text("")
    table = {**CONFIG, "env": {"name": "./my_game.py:make"}}
    config = arena.RunConfig.model_validate_json(json.dumps(table))
    assert config_of(config, "run", ())[0].env.name == f"{tmp_path.resolve()}/my_game.py:make"
    far = config.model_copy(
        update={"learning": config.learning.model_copy(update={"entropy_coef": 5.0})}
    )
    with pytest.raises(ConfigError, match="outside pbt.entropy_coef_bounds"):
        config_of(far, "run", ())


def test_a_game_is_a_function_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "of_a_file.py"
    file.write_text("def make():\n    raise NotImplementedError\n\nalias = lambda: make()\n")
    monkeypatch.syspath_prepend(tmp_path)
    of_a_file = importlib.import_module("of_a_file")
    assert game_name(of_a_file.make) == f"{file.resolve()}:make"
    assert game_name("tictactoe") == "tictactoe"

    def inside() -> None: ...

    for refused in (of_a_file.alias, inside, len, 3):
        with pytest.raises(ConfigError, match=r"file|no function"):
            game_name(refused)
    with pytest.raises(ConfigError, match="  a lambda: is no function at the top"):
        game_name(lambda: 1)
    monkeypatch.setattr(of_a_file.make, "__module__", "user_env_0")
    with pytest.raises(ConfigError, match="__main__"):
        game_name(of_a_file.make)


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
