"""A game that goes wrong in a match is named, kept as a file, and tried again only where that may
help.
"""

import json
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.matches import find_match, stored_games
from pbt.records import is_voided

GAME = """
from pathlib import Path
from pbt.envs.tiny.rock_paper_scissors import SPEC
from pbt.seeding import integer

BROKEN = [integer(1, "match", pair, bits=31) for pair in (3, 5)]

def make():
    game = SPEC.make()
    reset, step, seeds = game.reset, game.step, []

    def begins(seed):
        seeds.append(seed)
        with open(Path(__file__).with_name("begun"), "a") as begun:
            begun.write(f"{seed}\\n")
        return reset(seed)

    def breaks(actions):
        if seeds[-1] in BROKEN:
            raise ValueError("the dice are gone")
        return step(actions)

    game.reset, game.step = begins, breaks
    return game
"""
Output = pytest.CaptureFixture[str]


@pytest.fixture
def game(tmp_path: Path) -> Path:
    path = tmp_path / "dice.py"
    path.write_text(GAME)
    return path


def file_told(said: str) -> Path:
    return Path(said.partition("arena env replay ")[2].partition(";")[0].strip())


def test_a_match_names_a_broken_game_and_goes_on_when_it_is_mended(
    game: Path, tmp_path: Path, capsys: Output
) -> None:
    data = tmp_path / "data"
    where = ["--data", str(data)]
    words = ["match", "random", "random", "--env", f"{game}:make", "--games", "20", *where]
    assert run(words) == 1
    said = capsys.readouterr().err
    assert "ValueError" in said and "the dice are gone" in said and "Traceback" not in said
    assert f"{game}:make" in said and f"{game}:20" in said and "pair 3" in said
    assert "goes wrong whenever its actions are played" in said
    assert f"go on with: arena match --resume 1 --data {data}" in said
    kept = file_told(said)
    assert kept.parent == data / "logs" and str(json.loads(kept.read_text())["seed"]) in said
    with open_league(league_path(data)) as league:
        match = find_match(league, 1)
        assert match.failed and "the dice are gone" in match.failed
        before = stored_games(league, match)
    assert len([one for one in before if not is_voided(one.end_reason)]) == 16
    seeds = (tmp_path / "begun").read_text().split()
    assert seeds.count(kept.stem.rpartition("-")[2]) == 4, "its two games, and a look at each"
    assert run(["env", "replay", str(kept)]) == 1
    game.write_text(GAME.replace("(3, 5)", "()"))
    assert run(["env", "replay", str(kept)]) == 0
    capsys.readouterr()
    assert run(["match", "--resume", "1", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 20


def test_the_game_that_is_told_is_kept_however_many_go_wrong_at_once(
    game: Path, tmp_path: Path, capsys: Output
) -> None:
    game.write_text(GAME.replace("in BROKEN", "> 100"))
    at_once = ["--games", "120", "--concurrency", "60", "--data", str(tmp_path / "data")]
    assert run(["match", "random", "random", "--env", f"{game}:make", *at_once]) == 1
    assert file_told(capsys.readouterr().err).is_file()


def test_an_evaluation_and_a_match_without_a_record_say_where_the_game_is_kept(
    game: Path, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    game.write_text(GAME.replace("in BROKEN", "> 100"))
    named = ["random", "--env", f"{game}:make", "--data", str(tmp_path / "data")]
    for words in (["evaluate", *named], ["match", "random", *named, "--no-record"]):
        assert run(words) == 1
        kept = file_told(capsys.readouterr().err)
        assert kept.parent == tmp_path and run(["env", "replay", str(kept)]) == 1
        capsys.readouterr()
