"""`arena tournament` of scripted players, through the real commands: rock, paper and scissors;
going on after a stop; what is refused.
"""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import INTERRUPTED, run
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.matches import find_match
from arena.matches import tournament
from arena.matches.match_result import PlayedMatch
from arena.matches.play import play_match
from tests.arena.guests.guest_match import LOWEST, program

Output = pytest.CaptureFixture[str]
# Nine throws, so that the random opening throw, which makes each game another one, decides none.
CIRCLE = ("rock", "paper", "scissors", "--env", "rock_paper_scissors", "--set", "rounds=9")


def report(capsys: Output, *arguments: str) -> Any:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_rock_paper_scissors_has_equal_ratings_and_one_circle(
    tmp_path: Path, capsys: Output
) -> None:
    folder = ("--data", str(tmp_path))
    played = report(capsys, "tournament", *CIRCLE, "--games", "40", *folder)
    assert [
        (match["a"], match["b"], match["score"], match["games"]) for match in played["matches"]
    ] == [
        ("rock", "paper", 0.0, 40),
        ("rock", "scissors", 1.0, 40),
        ("paper", "scissors", 0.0, 40),
    ]
    (table,) = report(capsys, "league", "--env", "rock_paper_scissors", *folder)
    for found in (played, table):
        assert len(found["players"]) == 3
        assert all(
            abs(player["elo"]) < 1e-6 and player["low"] < 0 < player["high"]
            for player in found["players"]
        )
        assert [set(cycle["players"]) for cycle in found["cycles"]] == [
            {"rock", "paper", "scissors"}
        ]
        assert found["cyclic_share"]["share"] > 0.95
    assert run(["league", *folder]) == 0
    text = capsys.readouterr().out
    assert text.count("Circle: ") == 1
    assert "see `arena matrix`" in text


def test_against_random_each_is_even_and_random_is_zero(tmp_path: Path, capsys: Output) -> None:
    played = report(
        capsys,
        "tournament",
        *CIRCLE,
        "random",
        "--games",
        "20",
        "--rounds",
        "2",
        "--data",
        str(tmp_path),
    )
    assert [match["round"] for match in played["matches"]] == [1] * 6 + [2] * 6
    assert [match["seed"] for match in played["matches"]] == [1] * 6 + [2] * 6
    players = {player["player"]: player for player in played["players"]}
    assert players["random"]["elo"] == 0.0
    assert {player["games"] for player in players.values()} == {120}
    assert all(player["low"] <= 0 <= player["high"] for player in players.values())


@pytest.fixture
def _heeded() -> Iterator[None]:
    """A shell that starts the tests in its background has them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heeded")
def test_ctrl_c_keeps_whole_matches_and_the_same_command_goes_on(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["tournament", *CIRCLE, "--games", "40", "--data", str(tmp_path)]
    begun: list[PlayedMatch] = []

    def interrupted(*players: Any, **options: Any) -> PlayedMatch:
        """The second match is interrupted in the middle, by a real signal in its first progress."""
        told = options.pop("on_progress")

        def progress(done: int, planned: int) -> None:
            if len(begun) == 1:
                signal.raise_signal(signal.SIGINT)
            if told is not None:
                told(done, planned)

        result = play_match(*players, on_progress=progress, tables=4, **options)
        begun.append(result)
        return result

    with monkeypatch.context() as patched:
        patched.setattr(tournament, "play_match", interrupted)
        assert run([*command, "--json"]) == INTERRUPTED
    first = json.loads(capsys.readouterr().out)
    assert first["interim"]
    whole, part = (match["games"] for match in first["matches"])
    assert whole == 40 > part > 0
    again = report(capsys, *command)
    assert [match["match"] for match in again["matches"]][:2] == [
        match["match"] for match in first["matches"]
    ]
    assert [match["games"] for match in again["matches"]] == [40, 40, 40]
    once_more = report(capsys, *command)
    assert [match["match"] for match in once_more["matches"]] == [
        match["match"] for match in again["matches"]
    ]
    swapped = report(
        capsys, "tournament", *CIRCLE[2::-1], *CIRCLE[3:], "--games", "40", "--data", str(tmp_path)
    )
    assert {match["match"] for match in swapped["matches"]} == {
        match["match"] for match in again["matches"]
    }, "in any order of the names"
    with open_league(league_path(tmp_path), read_only=True) as league:
        assert all(find_match(league, match["match"]).finished_at for match in again["matches"])


def test_a_player_that_is_named_twice_plays_once(tmp_path: Path, capsys: Output) -> None:
    named = ("tournament", "rock", "paper", "rock", "--env", "rock_paper_scissors")
    assert run([*named, "--games", "2", "--data", str(tmp_path), "--json"]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)["matches"]) == 1
    assert "the 3 names are of 2 players; each plays once" in said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rock", "--env", "rock_paper_scissors"), "players named: 1; expected two or more"),
        (("random", "paperr", "--env", "rock_paper_scissors"), "there is no player 'paperr'"),
        (
            ("random", "random", "--env", "cartpole"),
            "different players named: 1; expected two or more",
        ),
    ],
)
def test_what_is_refused(
    tmp_path: Path, capsys: Output, arguments: tuple[str, ...], said: str
) -> None:
    assert run(["tournament", *arguments, "--data", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_a_game_of_three_seats_is_rated_from_one_match_of_all(
    tmp_path: Path, capsys: Output
) -> None:
    spread = ("--env", "mpe", "--set", "scenario=simple_spread", "--set", "max_cycles=2")
    bot = program(tmp_path, LOWEST)
    folder = ("--data", str(tmp_path / "data"), "--games", "6", "--objective", "win")
    played = report(capsys, "tournament", "random", bot, *spread, *folder)
    (match,) = played["matches"]
    assert (match["round"], match["games"], len(match["standings"])) == (1, 6, 2)
    assert len(played["players"]) == len(match["players"]) == 2
    assert run(["tournament", "random", bot, *spread, *folder]) == 0
    shown = capsys.readouterr()
    assert "6 games" in shown.err and "tournament   mpe, 1 match" in shown.out


def test_where_returns_count_players_are_seated_with_themselves(
    tmp_path: Path, capsys: Output
) -> None:
    spread = ("--env", "mpe", "--set", "scenario=simple_spread", "--set", "max_cycles=2")
    bot = program(tmp_path, LOWEST)
    folder = ("--data", str(tmp_path / "data"), "--games", "8")
    played = report(capsys, "tournament", "random", bot, *spread, *folder)
    (match,) = played["matches"]
    assert played["objective"] == "return" and played["players"] == []
    assert [one["self_play"]["value"] < 0 for one in match["partners"]] == [True, True]
    assert run(["tournament", "random", bot, *spread, *folder]) == 0
    shown = capsys.readouterr().out.splitlines()
    # A matrix has scores of two players, which returns are not.
    assert shown[-1] == "Saved: match 1"
    (proof,) = [line for line in shown if line.startswith("Proof")]
    assert proof.endswith(f"--data {tmp_path / 'data'}")
    for command in ("matrix", "league"):
        assert run([command, "--env", "mpe", *folder[:2]]) == 0
        assert "returns count, and no player beats another" in capsys.readouterr().out
