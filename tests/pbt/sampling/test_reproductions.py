"""A game that went wrong leaves a file with which it goes wrong again."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from arena.cli.app import run
from pbt.envs.testing.reproduction import MOST, Reproduction, play_again, read_reproduction
from pbt.envs.tiny.rock_paper_scissors import SPEC
from pbt.errors import EnvError
from tests.arena.tiny_populations import UNRATED, train

GAME = """
from pbt.envs.tiny.rock_paper_scissors import SPEC
def make(length=50):
    game = SPEC.make()
    reset, step, seeds = game.reset, game.step, []
    def first(seed):
        seeds.append(seed)
        return reset(seed)
    def rare(actions):
        if seeds[-1] > 100 and actions == {0: (1,), 1: (2,)}:
            raise ValueError("paper against scissors")
        return step(actions)
    game.reset, game.step = first, rare
    return game
"""
Output = pytest.CaptureFixture[str]


def test_a_training_leaves_a_file_that_goes_wrong_again(tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "game.py").write_text(GAME)
    env = {"name": f"{tmp_path}/game.py:make", "options": {"length": 50}}
    with pytest.raises(EnvError, match="arena env replay") as raised:
        train(tmp_path / "data", "own", {**UNRATED, "env": env})
    path = Path(str(raised.value).rpartition("arena env replay ")[2])
    assert path.parent == tmp_path / "data" / "populations" / "own" / "logs"
    kept = read_reproduction(path)
    assert (kept.env, kept.options) == (env["name"], env["options"])
    assert list(kept.actions)[-2:] == [(0, 1), (1, 2)]
    assert run(["env", "replay", str(path.with_name("none.json"))]) == 2
    assert run(["env", "replay", str(path)]) == 1
    said = capsys.readouterr()
    assert "ValueError: paper against scissors" in said.out and "in rare" in said.err
    (tmp_path / "game.py").write_text(GAME.replace("raise ValueError", "print"))
    assert run(["env", "replay", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["end"] in ("open", "over")


def again(actions: list[tuple[int, ...]]) -> tuple[str, int]:
    game = SPEC.make()
    replayed = play_again(game, Reproduction("rock_paper_scissors", {}, 3, actions, "x"))
    return replayed.end, replayed.steps


def test_a_game_that_is_played_again_may_go_on_or_go_another_way() -> None:
    assert again([]) == ("open", 0)
    assert again([(0, 1), (1, 2)])[1] == 1
    assert again([(0, 1), (0, 2)]) == ("other", 0)
    for foreign in ((1, 7), (1, -1), (1, 1, 1)):
        assert again([(0, 1), foreign]) == ("other", 0)


def test_a_folder_keeps_the_newest_files(tmp_path: Path) -> None:
    options: Mapping[str, int] = {}
    for seed in range(MOST + 5):
        Reproduction("memory", options, seed, [(0, 1)], "x").write(tmp_path)
    assert len(list(tmp_path.iterdir())) == MOST
    assert not (tmp_path / "game-error-0.json").exists()


WHOLE = {
    "format": "pbt-arena game",
    "env": "connect_four",
    "options": {},
    "seed": 1,
    "actions": [[0, 1]],
    "error": "x",
}
OTHER = (
    {"format": "another"},
    {"env": 3},
    {"options": 5},
    {"seed": True},
    {"seed": "1"},
    {"actions": [[]]},
    {"actions": [[0, "1"]]},
    {"actions": 7},
    {"error": 7},
    {"more": 1},
)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", "[" * 100_000, '{"actions": [[1e400, 1]]}', "\xff"]
    + [json.dumps({**WHOLE, **change}) for change in OTHER],
)
def test_other_files_are_refused(tmp_path: Path, text: str, capsys: Output) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="latin-1")
    assert run(["env", "replay", str(path)]) == 2
    assert "no game that went wrong" in capsys.readouterr().err
    with pytest.raises(EnvError, match="cannot be read"):
        read_reproduction(tmp_path / "none.json")


def test_nothing_is_written_in_place_of_a_data_directory_that_is_away(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Reproduction("memory", {}, 1, [], "x").write(tmp_path / "populations/one/logs")
    assert list(tmp_path.iterdir()) == []
