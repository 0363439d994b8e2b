"""`@best` where members play several roles, and copies of a player in the results of a game."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arena.cli.rating_report import league_report
from arena.cli.rating_table import print_league
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
    """A prey that mostly escapes, and two predators, of which one catches it more often."""
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
            *games(B, C, places=(0, 1), number=8, first=60),
            *games(B, C, places=(1, 0), number=52, first=68),
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


def test_each_role_has_a_table_whose_first_is_its_best(
    league: League, capsys: pytest.CaptureFixture[str]
) -> None:
    print_league(league, "tag")
    predators, prey = capsys.readouterr().out.split("population tag, role ")[1:]
    rows = {
        role: [line.split()[:2] for line in text.splitlines()[2:5]]
        for role, text in (("predator", predators), ("prey", prey))
    }
    assert predators.startswith("predator\n") and prey.startswith("prey\n")
    assert rows["predator"][0] == ["1", "tag/m0@0"] and ["2", "tag/m1@0"] in rows["predator"]
    assert ["random", "0"] in rows["predator"] and ["random", "0"] in rows["prey"]
    assert rows["prey"][0] == ["1", "tag/m2@0"] and "tag/m1" not in prey.split("Elo from")[0]
    report = league_report(league, "tag")
    told = {row["id"]: (row["role"], row["rank"]) for row in report["players"]}
    assert told == {
        "a" * 64: ("predator", 1),
        "b" * 64: ("predator", 2),
        "c" * 64: ("prey", 1),
        "random": (None, None),
    }
    for role, best in report["best_by_role"].items():
        assert told[best] == (role, 1)


def test_returns_are_ranked_within_a_role(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prey lose what predators gain, so that one table of both says nothing."""
    with open_league(tmp_path / "league.db") as league:
        config = {"env": {**CONFIG["env"], "objective": "return"}}  # type: ignore[dict-item]
        created = create_population(league, "tag", "tag", config, {}, MEMBERS)
        with LeagueWriter(league, open_incarnation(league, created, 1)) as writer:
            for letter, (member, role) in zip("abc", MEMBERS, strict=True):
                writer.snapshot(replace(snapshot(letter, member), role=role))
            for count in range(120):
                value = (5.0, 3.0)[count % 2] + count % 3
                players = ((A, B)[count % 2], C)
                writer.game(game(count, players, (0, 1), "evaluation", returns=(value, -value)))
            writer.drain(60)
        print_league(league, "tag")
        predators, prey = capsys.readouterr().out.split("population tag, role ")[1:]
        assert [line.split()[:2] for line in predators.splitlines()[2:4]] == [
            ["1", "tag/m0@0"],
            ["2", "tag/m1@0"],
        ]
        assert prey.splitlines()[2].split()[:2] == ["1", "tag/m2@0"]
        report = league_report(league, "tag")
        assert [(row["role"], row["rank"]) for row in report["players"]] == [
            ("predator", 1),
            ("predator", 2),
            ("prey", 1),
        ]
        assert report["best_by_role"] == {"predator": "a" * 64, "prey": "c" * 64}


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
