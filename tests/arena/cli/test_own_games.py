"""Games of the user's own at the command line: where they are found, and whom they may serve."""

import json
import shutil
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.snapshot_cards import card_beside
from arena.players.load import load_player
from arena.python.configs import load_named
from pbt.errors import EnvError, PlayerError
from tests.arena.tiny_populations import UNRATED, train

GAME = """
from pbt.envs.tiny.rock_paper_scissors import SPEC
def make(**options):
    return SPEC.make(**options)
"""
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a game, `data` with a population of it, and an exported snapshot."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "game.py").write_text(GAME)
    train(folder / "data", "own", {**UNRATED, "env": {"name": f"{folder}/game.py:make"}})
    out = folder / "best.safetensors"
    assert run(["export", "own/m1", "--out", str(out), "--data", str(folder / "data")]) == 0
    return folder


def test_paths_in_a_config_begin_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "project" / "my.toml"
    config.parent.mkdir()
    config.write_text('[env]\nname = "./game.py:make"\n')
    doom = config.with_name("doom.toml")
    doom.write_text('[env]\nname = "doom"\noptions = { scenario = "./a.cfg", wad = "b.wad" }\n')
    monkeypatch.chdir(tmp_path)
    loaded, _ = load_named("project/my.toml", None, ())
    assert loaded.env.name == f"{config.parent}/game.py:make"
    loaded, _ = load_named("project/my.toml", None, ("env.name=./game.py:make",))
    assert loaded.env.name == f"{tmp_path}/game.py:make"
    loaded, _ = load_named("project/doom.toml", None, ('env.options.wad="c.wad"',))
    assert loaded.env.options == {
        "scenario": f"{config.parent}/a.cfg",
        "wad": f"{tmp_path}/c.wad",
    }


def test_a_file_games_snapshot_is_imported_where_files_are_allowed(
    trained: Path, tmp_path: Path, capsys: Output
) -> None:
    weights = shutil.copy(trained / "best.safetensors", tmp_path)
    shutil.copy(card_beside(trained / "best.safetensors"), tmp_path)
    place = f"{tmp_path / 'there' / 'game.py'}:make"
    (tmp_path / "there").mkdir()
    (tmp_path / "there/game.py").write_text(GAME)
    data = ["--data", str(tmp_path / "data")]
    assert run(["import", weights, *data]) != 0
    assert "arena import --allow-files" in capsys.readouterr().err
    other = shutil.copy(place.rpartition(":")[0], tmp_path / "other.py")
    for env, said in (
        (f"{other}:make", "another name is another game"),
        ("connect_four", "expected the place of"),
    ):
        assert run(["import", weights, *data, "--allow-files", "--env", env]) == 2
        assert said in capsys.readouterr().err
    assert run(["import", weights, *data, "--allow-files", "--env", place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["env_name"] == place
    options = ["--games", "4", "--concurrency", "1", "--no-record", "--json"]
    assert run(["match", "imported/best", "random", *options, *data]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 4


def test_load_player_says_how_code_of_the_users_is_allowed(trained: Path) -> None:
    with pytest.raises(EnvError, match=r"load_player\('own/m1', allow_files=True\)"):
        load_player("own/m1", trained / "data")
    with load_player("own/m1", trained / "data", allow_files=True) as player:
        assert player.role.name
    with pytest.raises(PlayerError, match=r"load_player\('exec:./b', allow_files=True\)"):
        load_player("exec:./b", env="connect_four")
