"""A population whose game lies elsewhere now goes on with it, if it is the same game."""

from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.paths import PopulationPaths
from arena.training.moved_files import keep_print, take_moves
from arena.training.train import resume_training
from pbt.config.load import config_from_table
from pbt.envs import registry
from pbt.envs.places import place_of
from pbt.errors import ConfigError
from pbt.files import write_whole
from tests.arena.tiny_populations import UNRATED, train

GAME = """
from rules_beside import SPEC
def make():
    return SPEC.make()
"""
RULES = "from pbt.envs.tiny.rock_paper_scissors import SPEC\n"
OTHER = "from pbt.envs.tiny.memory import SPEC\n"


@pytest.fixture
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a population of a game whose files are in `new` now, and not in `old`."""
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    monkeypatch.delitem(__import__("sys").modules, "rules_beside", raising=False)
    old = tmp_path / "old"
    old.mkdir()
    (old / "game.py").write_text(GAME)
    (old / "rules_beside.py").write_text(RULES)
    train(tmp_path / "data", "own", {**UNRATED, "env": {"name": f"{old}/game.py:make"}})
    old.rename(tmp_path / "new")
    monkeypatch.delitem(__import__("sys").modules, "rules_beside")
    return tmp_path / "data"


def resumed(data: Path, *words: str) -> list[str]:
    said: list[str] = []
    edits = ["stop_at_frames=400", *words]
    resume_training("own", data, edits, lambda progress: None, said.append)
    return said


def test_it_is_pointed_to_anew_and_stays_the_same_game(
    moved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match="--set env.name=./new/place.py:function"):
        resumed(moved)
    said = resumed(moved, f"env.name={moved.parent}/new/game.py:make")
    assert any("new/game.py now; its files are the same" in line for line in said)
    match = ["match", "own/m0", "random", "--games", "4", "--concurrency", "1", "--no-record"]
    assert run([*match, "--data", str(moved)]) == 0
    assert run(["verify", "own", "--data", str(moved)]) == 0


def test_a_file_that_was_edited_is_judged_by_its_games(moved: Path) -> None:
    place = moved.parent / "new" / "game.py"
    write_whole(place, GAME + "# a remark\n")
    said = resumed(moved, f"env.name={place}:make")
    assert any("its files differ, and 3 seeded games are the same" in line for line in said)


def test_another_game_is_refused(moved: Path) -> None:
    place = moved.parent / "new" / "game.py"
    write_whole(place.with_name("rules_beside.py"), OTHER)
    with pytest.raises(ConfigError, match="is not the game that was"):
        resumed(moved, f"env.name={place}:make")
    with pytest.raises(ConfigError, match="no file"):
        resumed(moved, "env.name=./nowhere.py:make")


def test_other_names_stay_fixed(moved: Path) -> None:
    (moved.parent / "new").rename(moved.parent / "old")
    with pytest.raises(ConfigError, match="env.options.wad = 1: fixed"):
        resumed(moved, "env.options.wad=1")
    with pytest.raises(ConfigError, match="fixed at"):
        resumed(moved, "env.name=connect_four")


def test_a_file_among_the_options_is_known_by_its_content(tmp_path: Path) -> None:
    old, new = tmp_path / "old.cfg", tmp_path / "new.cfg"
    old.write_text("doom_scenario_path = x.wad\n")
    env = {"name": "doom", "options": {"scenario": str(old)}}
    config = config_from_table({"env": env}, "x")
    paths = PopulationPaths(tmp_path)
    keep_print(paths, config, registry.spec("doom"))
    old.rename(new)
    (tmp_path / "other.cfg").write_text("doom_scenario_path = y.wad\n")
    with pytest.raises(ConfigError, match="the content of"):
        take_moves(paths, config, [f"env.options.scenario={tmp_path}/other.cfg"])
    rest, notes = take_moves(paths, config, [f'env.options.scenario="{new}"', "seed=3"])
    assert rest == ["seed=3"] and "its content is the same" in notes[0]
    assert place_of(old) == new
