"""`arena replay`: boards and lines of stored games, and what it says of one that was altered."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.populations import create_population, open_incarnation
from arena.league.writer import LeagueWriter
from pbt.envs import registry
from tests.arena.guests.guest_match import acting
from tests.arena.league.samples import CONFIG, MEMBERS, game

Output = pytest.CaptureFixture[str]
GAMES = {
    "connect_four": ("random", "oneply"),
    "rock_paper_scissors": ("rock", "random"),
    "tictactoe": ("random", "random"),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Matches 1, 2 and 3 are of the games above; population `plain` has a training game of
    connect four.
    """
    folder = tmp_path_factory.mktemp("replayed")
    for env, players in GAMES.items():
        assert (
            run(
                [
                    "match",
                    *players,
                    "--env",
                    env,
                    "--games",
                    "4",
                    "--concurrency",
                    "1",
                    "--data",
                    str(folder),
                    "--json",
                ]
            )
            == 0
        )
    with open_league(league_path(folder)) as league:
        population_id = create_population(league, "plain", "connect_four", CONFIG, {}, MEMBERS)
        with LeagueWriter(league, open_incarnation(league, population_id, 1)) as writer:
            writer.game(game(0))
    return folder


@pytest.fixture(scope="module")
def forfeited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Matches 1 and 2: the first game of each is forfeited in the guest's second move, the
    second is played to its end.
    """
    folder = tmp_path_factory.mktemp("forfeited")
    bot = acting(
        folder, "answer(action=99 if game == 0 and message['move'] == 1 else message['legal'][0])"
    )
    for env in ("connect_four", "rock_paper_scissors"):
        assert (
            run(
                [
                    "match",
                    "random",
                    bot,
                    "--env",
                    env,
                    "--games",
                    "2",
                    "--seed",
                    "3",
                    "--data",
                    str(folder),
                ]
            )
            == 0
        )
    return folder


def replayed(data: Path, capsys: Output, name: str) -> Any:
    capsys.readouterr()
    assert run(["replay", name, "--data", str(data), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("number", range(4))
def test_a_stored_game_replays_as_it_was_played(data: Path, capsys: Output, number: int) -> None:
    for match, (env, players) in enumerate(GAMES.items(), start=1):
        found = replayed(data, capsys, f"match:{match}:{number}")
        assert found["problems"] == []
        assert (found["env"], {seat["player"] for seat in found["seats"]}) == (env, set(players))
        assert found["moves"][-1]["rewards"] or env == "connect_four"
        returns = [0.0, 0.0]
        for move in found["moves"]:
            for seat, rewards in move["rewards"].items():
                returns[int(seat)] += rewards[0]
        assert returns == [seat["returns"] for seat in found["seats"]]


def test_connect_four_is_drawn(data: Path, capsys: Output) -> None:
    found = replayed(data, capsys, "match:1:0")
    assert found["start"].splitlines() == [*[". . . . . . ."] * 6, "0 1 2 3 4 5 6"]
    for number, move in enumerate(found["moves"], start=1):
        marks = move["board"].split("\n0")[0]
        assert (marks.count("X"), marks.count("O")) == ((number + 1) // 2, number // 2), (
            "one piece more after each move, seat 0 first"
        )
        assert move["opening"] == (number <= found["opening_plies"])
    column = found["moves"][0]["action"]
    assert found["moves"][0]["board"].splitlines()[5].split()[column] == "X"
    assert run(["replay", "match:1:0", "--data", str(data)]) == 0
    text = capsys.readouterr().out
    assert found["moves"][-1]["board"] in text
    assert f"replays as stored, trajectory {found['trajectory_hash']}" in text


def test_other_games_are_lines(data: Path, capsys: Output) -> None:
    assert run(["replay", "match:2:0", "--data", str(data)]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = replayed(data, capsys, "match:2:0")
    assert (
        len([line for line in lines if ": " in line and line.startswith("  ")])
        == len(found["moves"])
        == 6
    )
    assert all(move["board"] is None for move in found["moves"])
    assert [move["step"] for move in found["moves"]] == [1, 1, 2, 2, 3, 3]
    assert [move["opening"] for move in found["moves"]] == [
        move["step"] <= found["opening_plies"] for move in found["moves"]
    ], "both throws of a step"


def altered(data: Path, tmp_path: Path, change: str) -> Path:
    folder = tmp_path / "altered"
    folder.mkdir()
    with (
        closing(sqlite3.connect(league_path(data))) as source,
        closing(sqlite3.connect(league_path(folder))) as copy,
    ):
        source.backup(copy)
        copy.execute(f"UPDATE {change}")
        copy.commit()
    return folder


FIRST = "WHERE match_id = 1 AND number = 0"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            f"games SET trajectory_hash = x'0011223344556677' {FIRST}",
            "trajectory hash: the stored actions have",
        ),
        (f"games SET actions = x'00' {FIRST}", "1 bytes that are no list of seats"),
        (f"games SET actions = x'0000090000000100' {FIRST}", "is not legal there"),
        (
            f"games SET actions = x'0100000000000100' {FIRST}",
            r"seats [0] are due, the stored actions are of seats [1]",
        ),
        (f"games SET actions = x'00000000' {FIRST}", "are due, the stored actions are of seats []"),
        (
            f"game_seats SET place = 1 - place WHERE game_id = (SELECT id FROM games {FIRST})",
            "places: stored",
        ),
        (
            (
                "game_seats SET returns = 7 WHERE seat = 0 AND game_id = (SELECT id FROM games "
                f"{FIRST})"
            ),
            "returns: stored (7.0",
        ),
    ],
)
def test_an_altered_game_is_found_out(
    data: Path, tmp_path: Path, capsys: Output, change: str, said: str
) -> None:
    folder = altered(data, tmp_path, change)
    assert run(["replay", "match:1:0", "--data", str(folder)]) == 1
    captured = capsys.readouterr()
    assert "does not replay as it was stored" in captured.err
    assert said in captured.err
    assert "does NOT replay as stored" in captured.out


def test_a_forfeited_game_replays_to_the_move_that_is_missing(
    forfeited: Path, capsys: Output
) -> None:
    for match in (1, 2):
        for number in (0, 1):
            found = replayed(forfeited, capsys, f"match:{match}:{number}")
            assert found["problems"] == []
            assert found["end_reason"].startswith("forfeit: guest bot.py, game 0, seat 1") == (
                number == 0
            )
    assert run(["replay", "match:1:0", "--data", str(forfeited)]) == 0
    text = capsys.readouterr().out
    assert (
        "Result   player_0 random first (return 0), player_1 bot.py #" in text
        and "place 2 (return 0); forfeit: guest bot.py, game 0" in text
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (f"games SET end_reason = 'rules' {FIRST}", "are due, the stored actions are of seats []"),
        (
            "games SET end_reason = 'forfeit: unknown' WHERE match_id = 1 AND number = 1",
            "the game is over, and stored as forfeited",
        ),
        (
            f"game_seats SET place = 1 - place WHERE game_id = (SELECT id FROM games {FIRST})",
            "places: stored (1, 0), replayed (0, 1)",
        ),
        (
            f"games SET actions = substr(actions, 1, length(actions) - 4) {FIRST}",
            "which are due, are no guest's",
        ),
    ],
)
def test_an_altered_forfeit_is_found_out(
    forfeited: Path, tmp_path: Path, capsys: Output, change: str, said: str
) -> None:
    assert (
        run(
            [
                "replay",
                f"match:1:{int('number = 1' in change)}",
                "--data",
                str(altered(forfeited, tmp_path, change)),
            ]
        )
        == 1
    )
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plain:0", "training games keep no actions"),
        ("plain:99999", "no such game"),
        ("plane:0", "did you mean 'plain'"),
        ("match:1:77", "its games are match:1:0 to match:1:3"),
        ("match:1", "its games are match:1:0 to match:1:3"),
        ("match:9:0", "no such match"),
        ("7", "expected demo:1234"),
    ],
)
def test_what_cannot_be_replayed(data: Path, capsys: Output, name: str, said: str) -> None:
    assert run(["replay", name, "--data", str(data)]) == 2
    assert said in capsys.readouterr().err


def test_a_game_that_is_not_replayable_says_so(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    unequal = replace(registry.spec("connect_four"), replayable=False)
    monkeypatch.setattr(registry, "spec", lambda name, **options: unequal)
    assert run(["replay", "match:1:0", "--data", str(data)]) == 2
    assert "do not give the same game again in connect_four" in capsys.readouterr().err
