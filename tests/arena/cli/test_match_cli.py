"""`arena match`, `arena evaluate` as typed."""

import json
from pathlib import Path

import pytest

import arena.cli.match as cli
from arena.cli.app import run
from arena.cli.match_options import SPOILED
from arena.schedule import Progress
from tests.arena.tiny_populations import CONNECT_FOUR, train

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("data")
    train(folder, "demo", CONNECT_FOUR)
    return str(folder)


def test_json_ends_with_one_line_and_a_score(data: str, capsys: Output) -> None:
    assert run(["match", "demo@best", "random", "--games", "20", "--data", data, "--json"]) == 0
    captured = capsys.readouterr()
    report = json.loads(captured.out.splitlines()[-1])
    assert len(captured.out.splitlines()) == 1
    assert 0.0 <= report["score"] <= 1.0
    assert report["a"]["population"] == "demo"
    assert isinstance(report["match"], int)
    assert captured.err == f"match {report['match']}: 20 games; should it be cut off: arena match --resume {report['match']} --data {data}\n"


def test_the_report_for_people(data: str, capsys: Output) -> None:
    assert run(["match", "oneply", "random", "--env", "connect_four", "--games", "20", "--seed", "7", "--data", data]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "oneply vs random   connect_four, 20 games in 10 seed pairs, sampled actions, 2 random plies to open, seed 7"
    assert [line.split()[0] for line in lines[1:]] == ["Score", "Elo", "Pairs", "Seats", "Games", "Saved", "Verdict"]


def test_no_record_writes_nothing(capsys: Output, tmp_path: Path) -> None:
    assert run(["match", "oneply", "random", "--env", "connect_four", "--games", "2", "--no-record", "--data", str(tmp_path / "new")]) == 0
    assert not (tmp_path / "new").exists()


WRONG = (
    ["match", "oneply", "random"],
    ["match", "nobody", "random", "--env", "connect_four"],
    ["match", "demo/m0", "random"],
    ["match", "random"],
    ["match", "random", "random", "oneply", "--env", "connect_four"],
    ["match", "oneply", "random", "--env", "connect_four", "--assert", "score>"],
    ["match", "oneply", "random", "--env", "connect_four", "--assert", "sprt"],
    ["match", "oneply", "random", "--env", "connect_four", "--assert", "score>55"],
    ["match", "oneply", "random", "--env", "connect_four", "--sprt", "20"],
    ["match", "oneply", "random", "--env", "connect_four", "--sprt", "20,0"],
    ["match", "--resume", "1"],
    ["match", "random", "random", "--env", "no_such_game"],
    ["evaluate", "first@best"],
)


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_names_exit_2_with_one_line_and_write_nothing(arguments: list[str], capsys: Output, tmp_path: Path) -> None:
    assert run([*arguments, "--data", str(tmp_path / "new")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("error: ")
    assert not (tmp_path / "new").exists()


def test_evaluate_says_who_sits_in_the_other_seats(data: str, capsys: Output) -> None:
    assert run(["evaluate", "demo/m0", "--episodes", "10", "--data", data]) == 0
    assert "player_0, player_1 in turn; `random` in the other seat" in capsys.readouterr().out
    assert run(["evaluate", "random", "--env", "cartpole", "--episodes", "10", "--json", "--data", data]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["low"] < report["mean_return"] < report["high"]
    assert report["random_opponents"] == 0


FLAKY = """
from pbt.envs.tiny.rock_paper_scissors import SPEC
from pbt.errors import EnvError
from pbt.seeding import integer

BROKEN = [integer(1, "match", 3, bits=31)]


def make():
    game = SPEC.make()
    reset = game.reset

    def fails_once(seed):
        if seed in BROKEN:
            BROKEN.remove(seed)
            raise EnvError("the engine fell over")
        return reset(seed)

    game.reset = fails_once
    return game
"""


def test_too_many_errors_exit_4(capsys: Output, tmp_path: Path) -> None:
    path = tmp_path / "flaky.py"
    path.write_text(FLAKY, encoding="utf-8")
    arguments = ["match", "random", "random", "--env", f"{path}:make", "--games", "20", "--no-record"]
    assert run(arguments) == SPOILED
    captured = capsys.readouterr()
    assert "errors 1 (played again)" in captured.out
    assert "the game raised in 1 tries of 20 games, more than 1 %" in captured.err


def test_ctrl_c_reports_and_exits_130(data: str, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        def __init__(self, title: str) -> None:
            self.title = title

        def __enter__(self) -> Progress:
            return self.interrupt

        def __exit__(self, *error: object) -> None:
            pass

        def interrupt(self, done: int, planned: int) -> None:
            if done >= 100:
                raise KeyboardInterrupt

    monkeypatch.setattr(cli, "progress_bar", Interrupting)
    assert run(["match", "oneply", "random", "--env", "connect_four", "--data", data]) == 130
    assert capsys.readouterr().out.splitlines()[-1].startswith("Interim")


def rated_games_of_random(data: str, capsys: Output) -> int:
    capsys.readouterr()
    assert run(["league", "demo", "--data", data, "--json"]) == 0
    players = json.loads(capsys.readouterr().out)["players"]
    games: int = next(player["games"] for player in players if player["player"] == "random")
    return games


def test_a_match_played_again_with_the_same_seed_is_no_new_evidence(data: str, capsys: Output) -> None:
    again = ["match", "demo/m0", "random", "--games", "20", "--data", data]
    before = rated_games_of_random(data, capsys)
    counts = []
    for seed, games in (("31", "20"), ("31", "20"), ("31", "40"), ("32", "20")):
        assert run([*again, "--seed", seed, "--games", games]) == 0
        counts.append(rated_games_of_random(data, capsys) - before)
    assert counts == [20, 20, 40, 60], "the longest of equal matches counts once, another seed counts anew"
