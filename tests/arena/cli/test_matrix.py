"""`arena league --env` and `arena matrix` on matches of three players who beat each other in a
circle, and on a free-for-all.
"""

import csv
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.matches import create_match, finish_match
from arena.league.writer import LeagueWriter
from pbt.records import PlayerRef
from tests.arena.league.samples import game

ROCK, PAPER, SCISSORS = (PlayerRef("scripted", name) for name in ("rock", "paper", "scissors"))
NAMES = ("a", "b", "c")
Output = pytest.CaptureFixture[str]


def play(data: Path, winner: PlayerRef, loser: PlayerRef, games: int) -> None:
    """`games` games, all won by the same player, the seats swapped in turn."""
    with open_league(league_path(data)) as league:
        match = create_match(
            league,
            "rock_paper_scissors",
            {},
            (winner, loser),
            games,
            1,
            {"of": [winner.name, loser.name]},
        )
        with LeagueWriter(league, match) as writer:
            for number in range(games):
                seats, places = (
                    ((winner, loser), (0, 1)) if number % 2 else ((loser, winner), (1, 0))
                )
                writer.game(game(number, seats, places, "evaluation"))
        finish_match(league, match, games)


@pytest.fixture
def circle(tmp_path: Path) -> Path:
    for winner, loser in ((PAPER, ROCK), (SCISSORS, PAPER), (ROCK, SCISSORS)):
        play(tmp_path, winner, loser, 40)
    return tmp_path


def answer(capsys: Output, *arguments: str) -> str:
    capsys.readouterr()
    assert run(list(arguments)) == 0
    return capsys.readouterr().out


def test_a_circle_is_flagged_and_its_ratings_are_equal(circle: Path, capsys: Output) -> None:
    report = json.loads(
        answer(capsys, "league", "--env", "rock_paper_scissors", "--data", str(circle), "--json")
    )[0]
    assert {player["player"] for player in report["players"]} == {"rock", "paper", "scissors"}
    assert all(
        abs(player["elo"]) < 1e-6 and player["low"] < 0 < player["high"]
        for player in report["players"]
    )
    assert "mean = 0" in report["rating"]
    assert [set(cycle["players"]) for cycle in report["cycles"]] == [{"rock", "paper", "scissors"}]
    assert report["cyclic_share"]["share"] > 0.95
    text = answer(capsys, "league", "--data", str(circle))
    assert text.startswith("game rock_paper_scissors")
    assert text.count("Circle: ") == 1
    assert any(
        f"Circle: {ring} (p" in text
        for ring in (
            "rock > scissors > paper > rock",
            "paper > rock > scissors > paper",
            "scissors > paper > rock > scissors",
        )
    )
    assert "see `arena matrix`" in text


def test_circles_and_cells_count_margins_where_a_game_does(tmp_path: Path, capsys: Output) -> None:
    """Each wins two hands of three against the next, and loses more in the third than it won."""
    with open_league(league_path(tmp_path)) as league:
        for one, other in ((PAPER, ROCK), (SCISSORS, PAPER), (ROCK, SCISSORS)):
            settings = {"objective": "margin"}
            match = create_match(league, "hands", {}, (one, other), 120, 1, settings)
            with LeagueWriter(league, match) as writer:
                for number in range(120):
                    won = -6.0 - number % 5 / 10 if number % 3 == 0 else 1.0 + number % 5 / 10
                    writer.game(
                        game(
                            number,
                            (one, other) if number % 2 else (other, one),
                            (0, 1) if (won > 0) == bool(number % 2) else (1, 0),
                            "evaluation",
                            returns=(won, -won) if number % 2 else (-won, won),
                        )
                    )
            finish_match(league, match, 120)
    there = ("--env", "hands", "--data", str(tmp_path))
    (report,) = json.loads(answer(capsys, "league", *there, "--json"))
    (cycle,) = report["cycles"]
    ring = cycle["players"] * 2
    # By hands won it goes the other way round.
    assert ("rock", "paper") in pairwise(ring)
    assert report["cyclic_share"]["share"] > 0.9
    (matrix,) = json.loads(answer(capsys, "matrix", *there, "--json"))
    assert matrix["objective"] == "margin" and len(matrix["pairs"]) == 3
    for pair in matrix["pairs"]:
        assert pair["margin_low"] < pair["margin"] < pair["margin_high"] and pair["units"] == 120
        assert abs(pair["margin"]) == pytest.approx(1.27, abs=0.1)
        assert (pair["margin"] > 0) == (pair["score"] < 0.5)
    text = answer(capsys, "matrix", *there)
    assert "Mean margin a game of the row" in text and "% ±" not in text
    assert "+1.27 ± 0.6" in text and "(120)" in text
    assert "of the margins is in circles" in text


def test_where_returns_count_there_is_no_matrix(tmp_path: Path, capsys: Output) -> None:
    with open_league(league_path(tmp_path)) as league:
        settings = {"objective": "return"}
        match = create_match(league, "team", {}, (ROCK, PAPER), 2, 1, settings)
        with LeagueWriter(league, match) as writer:
            for number in range(2):
                writer.game(game(number, (ROCK, PAPER), (0, 0), "evaluation", returns=(3.0, 3.0)))
        finish_match(league, match, 2)
    there = ("matrix", "--env", "team", "--data", str(tmp_path))
    assert "returns count, and no player beats another" in answer(capsys, *there)
    (report,) = json.loads(answer(capsys, *there, "--json"))
    assert (report["objective"], report["pairs"]) == ("return", [])


def test_a_game_of_a_file_is_found_by_the_name_it_was_played_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from pbt.envs.tiny.rock_paper_scissors import SPEC\nmake = SPEC.make\n"
    )
    game = ("--env", "./mine.py:make", "--data", str(tmp_path))
    answer(capsys, "match", "random", "random", *game, "--games", "2")
    for command in ("league", "matrix"):
        assert f"game {tmp_path}/mine.py:make" in answer(capsys, command, *game)


def test_the_matrix_says_who_beat_whom(circle: Path, capsys: Output) -> None:
    rows = list(
        csv.DictReader(
            io.StringIO(
                answer(
                    capsys, "matrix", "--env", "rock_paper_scissors", "--data", str(circle), "--csv"
                )
            )
        )
    )
    scores = {
        (row["player"], row["opponent"]): (float(row["score"]), int(row["games"])) for row in rows
    }
    assert len(scores) == 3
    for (player, opponent), (score, games) in scores.items():
        beats = {("paper", "rock"), ("scissors", "paper"), ("rock", "scissors")}
        assert (score, games) == (1.0 if (player, opponent) in beats else 0.0, 40)
    report = json.loads(
        answer(capsys, "matrix", "--env", "rock_paper_scissors", "--data", str(circle), "--json")
    )[0]
    assert [(pair["low"], pair["high"]) for pair in report["pairs"]] == [
        (float(row["low"]), float(row["high"])) for row in rows
    ]
    text = answer(capsys, "matrix", "--env", "rock_paper_scissors", "--data", str(circle))
    assert "100% ± 4 (40)" in text and "0% ± 4 (40)" in text


def test_free_for_all_is_rated_by_places(tmp_path: Path, capsys: Output) -> None:
    players = [PlayerRef("scripted", name) for name in ("random", *NAMES)]
    with open_league(league_path(tmp_path)) as league:
        match = create_match(league, "mpe", {"scenario": "simple_spread"}, players, 60, 1, {})
        with LeagueWriter(league, match) as writer:
            for number in range(60):
                # b and c change places in turn, a wins, random is last.
                writer.game(
                    game(number, players, (3, 0, 1 + number % 2, 2 - number % 2), "evaluation")
                )
    report = json.loads(
        answer(capsys, "league", "--env", "mpe", "--data", str(tmp_path), "--json")
    )[0]
    elo = {player["player"]: player["elo"] for player in report["players"]}
    assert elo["random"] == 0.0
    assert elo["a"] > elo["b"] > 0
    assert elo["b"] == pytest.approx(elo["c"], abs=1e-6)
    assert {player["games"] for player in report["players"]} == {180}
    assert report["cycles"] == []


def test_a_guest_is_marked(tmp_path: Path, capsys: Output) -> None:
    play(tmp_path, PlayerRef("guest", "bot.py:0123abcd"), ROCK, 40)
    (player,) = (
        row
        for row in json.loads(answer(capsys, "league", "--data", str(tmp_path), "--json"))[0][
            "players"
        ]
        if row["kind"] == "guest"
    )
    assert player["player"] == "bot.py:0123abcd"
    text = answer(capsys, "league", "--data", str(tmp_path))
    assert [line.split()[1:3] for line in text.splitlines() if "bot.py" in line] == [
        ["bot.py:0123abcd", "guest"]
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("league", "--env", "rock_paper_scisors"), "did you mean rock_paper_scissors?"),
        (("league", "demo", "--env", "rock_paper_scissors"), "choose one"),
        (("matrix", "--csv", "--json"), "choose one"),
        (("matrix", "unknown"), "no population 'unknown'"),
    ],
)
def test_what_is_refused(
    circle: Path, capsys: Output, arguments: tuple[str, ...], said: str
) -> None:
    assert run([*arguments, "--data", str(circle)]) == 2
    assert said in capsys.readouterr().err


def test_an_equal_match_played_again_is_no_new_evidence(circle: Path, capsys: Output) -> None:
    def games() -> Any:
        report = json.loads(
            answer(
                capsys, "league", "--env", "rock_paper_scissors", "--data", str(circle), "--json"
            )
        )
        return {player["player"]: player["games"] for player in report[0]["players"]}

    before = games()
    play(circle, PAPER, ROCK, 20)
    assert games() == before == {"rock": 80, "paper": 80, "scissors": 80}
