"""The table of returns says what its numbers are, in each kind of game."""

from dataclasses import replace

import pytest

from arena.cli.return_table import print_returns, returns_report
from arena.league.returns import ReturnStanding
from arena.league.stored_snapshots import StoredSnapshot
from tests.arena.league.samples import snapshot

Output = pytest.CaptureFixture[str]


def standing(
    letter: str, role: str, mean: float, cross_play: tuple[int, float] | None
) -> ReturnStanding:
    record = replace(snapshot(letter), role=role)
    stored = StoredSnapshot(record, "tag", False, False, False, -1, 0.0)
    return ReturnStanding(stored, 40, mean, mean - 1, mean + 1, cross_play)


def test_where_all_games_are_beside_others_no_cross_play_is_shown(capsys: Output) -> None:
    """No player of one role sits in all seats, so its cross-play would be its return again."""
    roles = ("prey", "predator")
    table = [
        standing("a", "predator", 20.0, (40, 20.0)),
        standing("b", "prey", -5.0, (40, -5.0)),
        standing("c", "prey", -9.0, (40, -9.0)),
    ]
    print_returns("tag", table, 0, roles)
    *_, words = printed = capsys.readouterr().out.splitlines()
    heads = [line.split() for line in printed if "player" in line.split()]
    assert heads == [["rank", "player", "id", "return", "[95", "%]", "games"]] * 2
    assert words == (
        "Mean returns of evaluation games, all of them beside other players, with 95 % "
        "intervals; ordered by the lower end."
    )
    players = returns_report("tag", table, False, roles)["players"]
    assert [row["frames"] for row in players] == [snapshot("a").frames] * 3


def test_in_a_cooperative_game_players_alone_and_beside_others_are_told_apart(
    capsys: Output,
) -> None:
    table = [standing("a", "player", 9.0, (80, 6.0)), standing("b", "player", 4.0, (80, 6.0))]
    print_returns("team", table, 0, ("player",))
    head, first, second, words = capsys.readouterr().out.splitlines()[1:]
    assert head.split()[-4:] == ["cross-play", "its", "games", "gap"] and "role" not in head
    assert first.split()[-1] == "+3" and second.split()[-1] == "-2"
    assert "return with itself in all seats" in words


def test_in_games_of_one_seat_no_other_player_is_named(capsys: Output) -> None:
    print_returns("alone", [standing("a", "player", 9.0, None)], 0, ("player",))
    printed = capsys.readouterr().out
    assert "one seat: there is no opponent" in printed and "cross-play" not in printed
