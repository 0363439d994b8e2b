"""`arena match`, `arena evaluate` as typed."""

import json
from pathlib import Path

import pytest

import arena.cli.match as cli
from arena.cli.app import run
from arena.cli.match_options import SPOILED
from arena.matches.game_list import Progress
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
    # A slow machine hears in between that the match goes on.
    said = [line for line in captured.err.splitlines(True) if not line.endswith("so far)\n")]
    assert "".join(said) == (
        f"match {report['match']}: 20 games; to resume it later: arena match --resume "
        f"{report['match']} --data {data}\n"
    )


def test_the_report_for_people(data: str, capsys: Output) -> None:
    assert (
        run(
            [
                "match",
                "oneply",
                "random",
                "--env",
                "connect_four",
                "--games",
                "20",
                "--seed",
                "7",
                "--data",
                data,
            ]
        )
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "oneply vs random   connect_four, 20 games in 10 seed pairs, sampled actions, 2 "
        "random plies to open, seed 7"
    )
    assert [line.split()[0] for line in lines[1:]] == [
        "Score",
        "Elo",
        "Pairs",
        "Seats",
        "Games",
        "Saved",
        "Proof",
        "Verdict",
    ]


def test_no_record_writes_nothing(capsys: Output, tmp_path: Path) -> None:
    assert (
        run(
            [
                "match",
                "oneply",
                "random",
                "--env",
                "connect_four",
                "--games",
                "2",
                "--no-record",
                "--data",
                str(tmp_path / "new"),
            ]
        )
        == 0
    )
    assert not (tmp_path / "new").exists()


WRONG = (
    ["match", "oneply", "random"],
    ["match", "unknown", "random", "--env", "connect_four"],
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
def test_wrong_names_exit_2_with_one_line_and_write_nothing(
    arguments: list[str], capsys: Output, tmp_path: Path
) -> None:
    assert run([*arguments, "--data", str(tmp_path / "new")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("error: ")
    assert not (tmp_path / "new").exists()


def test_evaluate_says_who_sits_in_the_other_seats(data: str, capsys: Output) -> None:
    assert run(["evaluate", "demo/m0", "--episodes", "10", "--data", data]) == 0
    assert "player_0, player_1 in turn; `random` in the other seat" in capsys.readouterr().out
    assert (
        run(
            [
                "evaluate",
                "random",
                "--env",
                "cartpole",
                "--episodes",
                "10",
                "--json",
                "--data",
                data,
            ]
        )
        == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert report["low"] < report["mean_return"] < report["high"]
    assert report["random_opponents"] == 0


FLAKY = """
from pbt.envs.tiny.rock_paper_scissors import SPEC
from pbt.errors import EnvError
from pbt.seeding import integer

BROKEN = [integer(1, "match", pair, bits=31) for pair in (3, 5)]


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
    arguments = [
        "match",
        "random",
        "random",
        "--env",
        f"{path}:make",
        "--games",
        "20",
        "--no-record",
    ]
    assert run(arguments) == SPOILED
    captured = capsys.readouterr()
    assert "errors 2 (played again)" in captured.out
    assert "the game raised an error 2 times in 20 games, more than 1 %" in captured.err


def test_a_test_that_finds_no_strength_fails_its_assertion(data: str, capsys: Output) -> None:
    assert (
        run(
            [
                "match",
                "random",
                "oneply",
                "--env",
                "connect_four",
                "--sprt",
                "0,50",
                "--assert",
                "sprt",
                "--data",
                data,
            ]
        )
        == cli.FAILED
    )
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .startswith("Verdict  random is not stronger by 50 or more (sequential test")
    )


@pytest.mark.parametrize(
    ("objective", "game", "said"),
    [
        ("margin", ("mpe", "--set", "scenario=simple_spread"), "expected 0 in every game"),
        ("return", ("tictactoe",), "every player returns 0"),
    ],
)
def test_an_objective_that_the_game_does_not_have_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    objective: str,
    game: tuple[str, ...],
    said: str,
) -> None:
    asked = ["match", "random", "random", "--env", *game, "--objective", objective]
    assert run([*asked, "--games", "2", "--data", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert f'objective "{objective}"' in told and said in told and "or make it" in told


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


def test_ctrl_c_reports_and_exits_130(
    data: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "progress_bar", Interrupting)
    assert run(["match", "oneply", "random", "--env", "connect_four", "--data", data]) == 130
    assert capsys.readouterr().out.splitlines()[-1].startswith("Interim")


class AtOnce(Interrupting):
    def interrupt(self, done: int, planned: int) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("going_on", [True, False])
def test_ctrl_c_before_the_first_pair_says_so(
    data: str, capsys: Output, monkeypatch: pytest.MonkeyPatch, going_on: bool
) -> None:
    monkeypatch.setattr(cli, "progress_bar", AtOnce)
    assert (
        run(
            [
                "match",
                "oneply",
                "random",
                "--env",
                "connect_four",
                "--data",
                data,
                *["--no-record"] * (not going_on),
            ]
        )
        == 130
    )
    captured = capsys.readouterr()
    said = captured.err.splitlines()[-1]
    assert captured.out == ""
    assert said.startswith("stopped before the first pair of games was complete")
    assert (
        "go on with: arena match --resume " in said and said.endswith(f" --data {data}")
    ) == going_on


ODDS = ["match", "oneply", "random", "--env", "connect_four", "--games", "60"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--assert", "score>0.55"], 0, "score>0.55: holds"),
        (
            ["--assert", "score>0.55", "--assert", "score>0.999"],
            cli.FAILED,
            "score>0.999: does not hold",
        ),
        (["--sprt", "0,50", "--assert", "sprt"], 0, "sprt: holds"),
        (["--sprt", "0,1", "--assert", "sprt"], cli.UNDECIDED, "sprt: not decided"),
        (
            ["--sprt", "0,1", "--assert", "sprt", "--assert", "score<0.5"],
            cli.FAILED,
            "score<0.5: does not hold",
        ),
        (["--sprt", "0,1"], 0, "SPRT     not decided after 30 pairs"),
    ],
)
def test_exit_codes_of_assertions(
    arguments: list[str], code: int, said: str, data: str, capsys: Output
) -> None:
    assert run([*ODDS, *arguments, "--data", data]) == code
    assert said in capsys.readouterr().out


def test_a_match_cut_off_goes_on_from_its_number(
    data: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        "match",
        "demo/m0",
        "oneply",
        "--games",
        "200",
        "--seed",
        "9",
        "--data",
        data,
        "--json",
    ]
    assert run(asked) == 0
    whole = json.loads(capsys.readouterr().out)
    with monkeypatch.context() as interrupting:
        interrupting.setattr(cli, "progress_bar", Interrupting)
        assert run(asked) == cli.INTERRUPTED
    cut = json.loads(capsys.readouterr().out)
    assert cut["interim"]
    assert 0 < cut["games"] < 200
    assert cut["resume"] == f"arena match --resume {cut['match']}"
    assert run(["match", "--resume", "last", "--data", data, "--json"]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert resumed["match"] == cut["match"]
    passing = ("match", "games_per_s", "head")
    assert {key: value for key, value in resumed.items() if key not in passing} == {
        key: value for key, value in whole.items() if key not in passing
    }
    assert run(["match", "demo/m0", "oneply", "--resume", str(cut["match"]), "--data", data]) == 0
    assert f"Saved    match {cut['match']}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--resume", "99999"], "match 99999: none of this number"),
        (["--resume", "first"], 'expected the number of a match, or "last"'),
        (
            ["--resume", "{match}", "--games", "8", "--seed", "3"],
            "--resume {match} with --games, --seed: the plan of this match is stored already; "
            "leave them out",
        ),
        (
            ["random", "oneply", "--resume", "{match}"],
            "expected the same players in the same order, or none named",
        ),
    ],
)
def test_what_does_not_fit_a_resumed_match_is_refused(
    arguments: list[str], said: str, data: str, capsys: Output
) -> None:
    assert (
        run(
            [
                "match",
                "oneply",
                "random",
                "--env",
                "connect_four",
                "--games",
                "2",
                "--data",
                data,
                "--json",
            ]
        )
        == 0
    )
    number = str(json.loads(capsys.readouterr().out)["match"])
    assert (
        run(["match", *(word.replace("{match}", number) for word in arguments), "--data", data])
        == 2
    )
    captured = capsys.readouterr()
    assert said.replace("{match}", number) in captured.err
    assert captured.out == ""


def test_games_of_one_seat_compare_returns(data: str, capsys: Output) -> None:
    assert (
        run(["match", "random", "random", "--env", "cartpole", "--games", "20", "--data", data])
        == 0
    )
    assert "how much more it returned on the same seed" in capsys.readouterr().out


def rated_games_of_random(data: str, capsys: Output) -> int:
    capsys.readouterr()
    assert run(["league", "demo", "--data", data, "--json"]) == 0
    players = json.loads(capsys.readouterr().out)["players"]
    games: int = next(player["games"] for player in players if player["player"] == "random")
    return games


def test_a_match_played_again_with_the_same_seed_is_no_new_evidence(
    data: str, capsys: Output
) -> None:
    again = ["match", "demo/m0", "random", "--games", "20", "--data", data]
    before = rated_games_of_random(data, capsys)
    counts = []
    for seed, games in (("31", "20"), ("31", "20"), ("31", "40"), ("32", "20")):
        assert run([*again, "--seed", seed, "--games", games]) == 0
        counts.append(rated_games_of_random(data, capsys) - before)
    assert counts == [20, 20, 40, 60], (
        "the longest of equal matches counts once, another seed counts anew"
    )
