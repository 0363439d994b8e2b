"""A league that is older than the chain begins it at its upgrade; rows from before are unknown."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.league.chain import chain_of_match, chain_of_population
from arena.league.chain_check import check_chain
from arena.league.compaction import Folding
from arena.league.database import League, open_league
from arena.league.game_rows import population_games
from arena.league.matches import create_match, find_match, finish_match
from arena.league.populations import open_incarnation
from arena.league.writer import LeagueWriter
from tests.arena.league.altering import into_rows
from tests.arena.league.samples import RANDOM, event, game, new_league, snapshot_player, write_games

PLAYERS = (snapshot_player("a"), RANDOM)
BEFORE = "0004"


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[League]:
    """A population with 60 games and a match with 4, from before the chain."""
    league, source = new_league(tmp_path)
    write_games(league, source, *(game(number) for number in range(60)))
    with LeagueWriter(league, source) as writer:
        writer.event(event())
    match = create_match(league, "connect_four", {}, PLAYERS, 8, 7, {"greedy": False})
    write_games(league, match, *(game(n, PLAYERS, (0, 1), "evaluation") for n in range(4)))
    into_rows(league)
    league.close()
    with closing(sqlite3.connect(league.path)) as connection:
        connection.executescript(
            "DROP TABLE chain; ALTER TABLE incarnations DROP COLUMN streams;"
            "DROP TABLE block_players; DROP TABLE game_blocks; DROP INDEX ix_games_training;"
            "ALTER TABLE folds DROP COLUMN cut_game_id;"
            "ALTER TABLE folded_results DROP COLUMN squares;"
            f"UPDATE alembic_version SET version_num = '{BEFORE}';"
        )
    with open_league(league.path) as opened:
        yield opened


def differences(league: League, match: int | None = None) -> list[str]:
    owner = chain_of_population(1) if match is None else chain_of_match(match)
    return [one.text for one in check_chain(league, owner).differences]


def execute(league: League, statement: str) -> None:
    with closing(sqlite3.connect(league.path)) as connection:
        connection.execute(statement)
        connection.commit()


def test_it_begins_with_the_number_of_rows(upgraded: League) -> None:
    report = check_chain(upgraded, chain_of_population(1))
    assert (report.records, report.differences, dict(report.rows)) == (1, (), {})
    assert report.begun_at is not None
    counts = {kind: count for kind, count in report.unknown.items() if count}
    assert counts == {
        "population": 1,
        "members": 4,
        "starts": 1,
        "training games": 60,
        "events": 1,
    }
    assert dict(check_chain(upgraded, chain_of_match(1)).unknown) == {"match": 1, "match games": 4}


def test_it_goes_on_with_everything_that_comes_later(upgraded: League) -> None:
    again = open_incarnation(upgraded, 1, 1, last_game=39)
    folding = Folding(1, 40, 20, 50)
    of_before = list(population_games(upgraded, "demo"))
    with LeagueWriter(upgraded, again, folding=folding) as writer:
        for number in range(40, 140):
            writer.game(game(number))
            if number % 10 == 0:
                writer.drain(60.0)
    match = find_match(upgraded, 1)
    write_games(upgraded, match, *(game(n, PLAYERS, (0, 1), "evaluation") for n in range(4, 8)))
    finish_match(upgraded, match, 6)
    assert (differences(upgraded), differences(upgraded, 1)) == ([], [])
    assert check_chain(upgraded, chain_of_population(1)).folded > 40
    kept = list(population_games(upgraded, "demo"))[: len(of_before)]
    assert kept == of_before, "games that have rows are not folded"


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM game_seats WHERE game_id & 68719476735 = 5", None),
        ("DELETE FROM events", "events from before"),
        ("DELETE FROM members WHERE name = 'm3'", "members from before"),
        ("UPDATE games SET kind = 1 WHERE number = 5", "training games from before"),
        ("UPDATE chain SET count = 1", "record 1 of the chain"),
        ("DELETE FROM chain", "the chain: found no record"),
    ],
)
def test_rows_from_before_are_counted_and_not_compared(
    upgraded: League, statement: str, found: str | None
) -> None:
    execute(upgraded, statement)
    texts = differences(upgraded)
    assert (texts == []) if found is None else any(text.startswith(found) for text in texts)
