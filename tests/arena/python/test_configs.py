"""Configs, overrides and games as Python hands them to `arena.train`."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import arena
from arena.python.configs import config_of, words_of
from arena.python.own_games import game_name
from pbt.errors import ConfigError, PlayerError
from tests.arena.python.tiny import CONFIG


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
    given = {"stop": arena.TrainingControl}
    with pytest.raises(ConfigError, match="stop: found <class .*expected a function"):
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
