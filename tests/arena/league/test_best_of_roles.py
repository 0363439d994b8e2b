"""`@best` where members play several roles, and copies of a player in the results of a game."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arena.cli.rating_report import league_report
from arena.league.database import League, open_league
from arena.league.populations import create_population, open_incarnation
from arena.league.ratings import standings
from arena.league.snapshot_names import best_names, find_snapshot
from arena.league.writer import LeagueWriter
from pbt.errors import PlayerError
from pbt.records import GameRecord, PlayerRef
from tests.arena.league.samples import CONFIG, RANDOM, game, snapshot, snapshot_player

MEMBERS = [("m0", "predator"), ("m1", "predator"), ("m2", "prey")]
A, B, C = (snapshot_player(letter) for letter in "abc")


def games(
    *players: PlayerRef, places: tuple[int, ...], number: int, first: int
) -> list[GameRecord]:
    return [game(count, players, places, "evaluation") for count in range(first, first + number)]


@pytest.fixture
def league(tmp_path: Path) -> Iterator[League]:
    """A prey that always escapes, and two predators, of which one catches it sometimes."""
    opened = open_league(tmp_path / "league.db")
    start = open_incarnation(
        opened, create_population(opened, "tag", "connect_four", CONFIG, {}, MEMBERS), 1
    )
    with opened, LeagueWriter(opened, start) as writer:
        for letter, (member, role) in zip("abc", MEMBERS, strict=True):
            writer.snapshot(replace(snapshot(letter, member), role=role))
        records = [
            *games(A, C, places=(0, 1), number=20, first=0),
            *games(A, C, places=(1, 0), number=40, first=20),
            *games(B, C, places=(1, 0), number=60, first=60),
            *games(RANDOM, C, places=(1, 0), number=60, first=120),
        ]
        for record in records:
            writer.game(record)
        writer.drain(60)
        yield opened


def test_each_role_has_its_own_best(league: League) -> None:
    assert best_names(league, "tag") == ["tag/predator@best", "tag/prey@best"]
    assert find_snapshot(league, "tag/predator@best").record.member == "m0"
    assert find_snapshot(league, "tag/prey@best").record.member == "m2"
    report = league_report(league, "tag")
    assert (report["best"], report["best_by_role"]) == (
        None,
        {"predator": "a" * 64, "prey": "c" * 64},
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tag@best", "play 2 roles, and each has a best of its own; expected tag/predator@best or"),
        ("tag", "expected one player of it: tag/predator@best or tag/prey@best, or a member such"),
        ("tag/pray@best", "no member and no role 'pray'; did you mean tag/prey"),
        ("tag/m0@best", "'best' is no number of frames"),
        ("tag@newest", "only @best is known"),
    ],
)
def test_a_name_without_its_role_is_answered_with_the_choices(
    league: League, name: str, said: str
) -> None:
    with pytest.raises(PlayerError, match=said):
        find_snapshot(league, name)


def test_a_role_without_enough_games_has_no_best_and_names_its_own_member(tmp_path: Path) -> None:
    with open_league(tmp_path / "league.db") as league:
        create_population(league, "tag", "connect_four", CONFIG, {}, MEMBERS)
        with pytest.raises(PlayerError, match=r"none was played\); train on, or name a.*: tag/m2"):
            find_snapshot(league, "tag/prey@best")


def test_copies_of_an_equal_player_are_as_strong_as_it(tmp_path: Path) -> None:
    """At a table of three, one equal player among two copies of another comes first in a third."""
    with open_league(tmp_path / "league.db") as league:
        start = open_incarnation(
            league, create_population(league, "demo", "connect_four", CONFIG, {}, MEMBERS), 1
        )
        with LeagueWriter(league, start) as writer:
            writer.snapshot(snapshot("a"))
            for number in range(120):
                place = number % 3
                places = [0, 1, 2]
                own = places.pop(place)
                writer.game(game(number, (A, RANDOM, RANDOM), (own, *places), "evaluation"))
            writer.drain(60)
        (row,) = [row for row in standings(league, "demo") if row.player == A]
    assert row.rating == pytest.approx(0.0, abs=1e-6)
    assert row.total.score == 0.5
