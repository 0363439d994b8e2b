"""Versions at first actions: unknown ones are stored, read and shown as such, also those of a
league from before.
"""

from dataclasses import replace
from pathlib import Path

from arena.league.database import _engine, open_league
from arena.league.game_rows import population_games
from arena.league.migrate import ensure_schema
from tests.arena.league.samples import game, member, new_league, snapshot_player, write_games

# (opening plies, voided, kind of the player, version_start, version_end) -> version_start after the
# upgrade.
STORED = {
    (0, 0, 0, 5, 7): 5,
    (0, 0, 0, 0, 7): 0,
    (0, 1, 0, 0, 0): -1,
    (0, 1, 0, 4, 6): 4,
    (2, 0, 0, 0, 7): -1,
    (2, 0, 0, 0, 0): -1,
    (1, 0, 0, 6, 7): 6,
    (2, 0, 1, 0, 0): 0,
    (2, 0, 2, 0, 0): 0,
}


def older(path: Path) -> None:
    """A league of schema 0003 with a game of one seat for each of the cases."""
    path.parent.mkdir()
    path.touch()
    engine = _engine(path, read_only=False)
    ensure_schema(engine, path, revision="0003")
    with engine.begin() as connection:
        run = connection.exec_driver_sql
        run(
            "INSERT INTO populations VALUES (1, 'old', 'tictactoe', '{}', '{}', '{}', 'stopped', 1)"
        )
        run("INSERT INTO incarnations VALUES (1, 1, 1, 1, 1.0, NULL, 0)")
        for kind in range(3):
            run("INSERT INTO players VALUES (?, ?, 'p', 0)", (10 + kind, kind))
        for key, (plies, voided, kind, start, end) in enumerate(STORED):
            run(
                "INSERT INTO games VALUES (?, 1, NULL, 0, ?, ?, 0, 1, 9, 9, 'won', ?, 0, 0, ?, "
                "NULL, 1, x'00', NULL)",
                (key, key, key, voided, plies),
            )
            run(
                "INSERT INTO game_seats VALUES (?, 0, ?, 0, ?, ?, 0, 1.0, NULL)",
                (key, 10 + kind, start, end),
            )
    engine.dispose()


def test_an_upgrade_marks_first_versions_that_mean_nothing(tmp_path: Path) -> None:
    path = tmp_path / "old" / "league.db"
    older(path)
    with open_league(path) as league, league.read() as connection:
        found = connection.exec_driver_sql(
            "SELECT version_start, version_end FROM game_seats ORDER BY game_id"
        ).all()
    assert [start for start, _ in found] == list(STORED.values())
    assert [end for _, end in found] == [end for *_, end in STORED]


def test_an_unknown_first_version_is_stored_and_read(tmp_path: Path) -> None:
    league, incarnation = new_league(tmp_path)
    known = game(3, (member("m0"), snapshot_player("a")))
    record = replace(known, seats=(replace(known.seats[0], version_start=None), known.seats[1]))
    write_games(league, incarnation, record)
    (read,) = population_games(league, "demo")
    assert read.record == record
    league.close()
