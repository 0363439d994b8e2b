"""The league is opened, migrated or refused; a population is made, resumed and deleted."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from arena.league.database import League, damage, open_league
from arena.league.deletion import delete_population
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.lineage import RoundDecision
from arena.league.migrate import SCRIPTS, ensure_schema
from arena.league.populations import (
    Incarnation,
    create_population,
    open_incarnation,
    set_state,
    stored_config,
    streams_of,
)
from arena.league.schema import (
    NUMBER_BITS,
    SCHEMA_REVISION,
    block_players,
    game_blocks,
    game_seats,
    games,
    metadata,
)
from arena.league.stored_history import list_decisions, list_events, list_rounds
from arena.league.stored_snapshots import list_snapshots
from arena.league.summaries import list_members, list_populations
from arena.league.superseding import NOTHING_KNOWN, CheckpointRows
from arena.league.writer import LeagueWriter
from pbt.errors import PbtError, PlayerError
from pbt.records import Event
from pbt.seeding import STREAMS
from tests.arena.league.samples import CONFIG, event, game, new_league, round_record, snapshot

Started = tuple[League, Incarnation]

_SECOND = """
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "9999", "{newest}", None, None

def upgrade():
    with op.batch_alter_table("populations") as batch:
        batch.add_column(sa.Column("remark", sa.Text()))
    {more}
"""


def second_revision(folder: Path, more: str = "") -> Path:
    scripts = folder / "scripts"
    shutil.copytree(SCRIPTS, scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (scripts / "versions" / "9999_remark.py").write_text(
        _SECOND.format(newest=SCHEMA_REVISION, more=more)
    )
    return scripts


def test_migrations_make_the_schema(started: Started) -> None:
    league, _ = started
    with league.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    assert ScriptDirectory(str(SCRIPTS)).get_heads() == [SCHEMA_REVISION]


def test_settings_of_a_writing_connection(started: Started) -> None:
    league, _ = started
    with league.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 15_000,
    }


def test_the_log_stays_while_a_writer_is_open(tmp_path: Path) -> None:
    """A reader beside an open writer makes no file, so it can read on a full disk."""
    path = tmp_path / "league.db"
    with open_league(path):
        with open_league(path), closing(sqlite3.connect(path)) as other:
            other.execute("SELECT * FROM populations").fetchall()
        assert {file.name for file in tmp_path.glob("league.db*")} >= {
            "league.db-wal",
            "league.db-shm",
        }
    assert not [*tmp_path.glob("league.db-*")]


def test_upgrade_keeps_a_backup_and_every_row(tmp_path: Path) -> None:
    league, incarnation = new_league(tmp_path)
    with LeagueWriter(league, incarnation) as writer:
        for number in range(20):
            writer.game(game(number))
    ensure_schema(league._engine, league.path, second_revision(tmp_path), "9999")
    with league.read() as connection:
        assert connection.exec_driver_sql("SELECT remark FROM populations").all() == [(None,)]
    assert len(list(population_games(league, "demo"))) == 20
    with pytest.raises(
        PbtError,
        match=f"its schema is 9999, newer than this program's {SCHEMA_REVISION}; upgrade pbt-arena",
    ):
        open_league(league.path)
    with pytest.raises(PbtError, match=f"its schema is 9999, this program's is {SCHEMA_REVISION}"):
        open_league(league.path, read_only=True)
    league.close()
    with open_league(
        tmp_path / f"league.db.schema-{SCHEMA_REVISION}.backup", read_only=True
    ) as copy:
        assert len(list(population_games(copy, "demo"))) == 20


def test_a_failing_upgrade_changes_nothing(tmp_path: Path) -> None:
    league, _ = new_league(tmp_path)
    scripts = second_revision(
        tmp_path, "op.execute('INSERT INTO incarnations VALUES (9, 77, 1, 1, 1.0, NULL, 0, NULL)')"
    )
    with pytest.raises(PbtError, match="would break 1 references; nothing was changed"):
        ensure_schema(league._engine, league.path, scripts, "9999")
    with league.read() as connection:
        assert (
            connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
            == SCHEMA_REVISION
        )
        assert (
            "remark"
            not in connection.exec_driver_sql(
                "SELECT sql FROM sqlite_master WHERE name = 'populations'"
            ).scalar_one()
        )
    league.close()


def test_two_processes_make_one_league(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from arena.league.database import "
        "open_league; open_league(Path(sys.argv[1]))"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "league.db")]
    running = [subprocess.Popen(words, env={"PYTHONPATH": ":".join(sys.path)}) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    with open_league(tmp_path / "league.db") as league:
        assert damage(league) == []


def test_what_is_no_league_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "nothing" / "league.db"
    with pytest.raises(PbtError, match="nothing there yet"):
        open_league(missing, read_only=True)
    assert not missing.parent.exists()
    text = tmp_path / "text.db"
    text.write_text("hello " * 1000)
    for read_only in (True, False):
        with pytest.raises(PbtError, match="not a database"):
            open_league(text, read_only=read_only)
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE trials (id)")
    with pytest.raises(PbtError, match=r"not a league's \(trials\)"):
        open_league(foreign)
    with pytest.raises(PbtError, match="holds no league tables"):
        open_league(foreign, read_only=True)


def test_a_reader_writes_nothing(started: Started) -> None:
    league, incarnation = started
    with open_league(league.path, read_only=True) as reader:
        with pytest.raises(PbtError, match="reading only"), reader.write():
            pass
        with pytest.raises(PbtError, match="reading only"):
            LeagueWriter(reader, incarnation)
        with pytest.raises(PbtError, match="readonly"), reader.read() as connection:
            connection.exec_driver_sql("DELETE FROM populations")


def test_the_league_needs_no_torch() -> None:
    code = (
        "import sys, arena.league.verify, arena.league.snapshot_names, "
        "arena.league.writer; assert 'torch' not in sys.modules"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}
        ).returncode
        == 0
    )


def test_names_are_unique_and_speakable(started: Started) -> None:
    league, _ = started
    with pytest.raises(PlayerError, match="'demo' exists already; resume it"):
        create_population(league, "demo", "connect_four", CONFIG, {})
    for name in ("", "a/b", "a@b", "-x", "x" * 65):
        with pytest.raises(PlayerError, match="population name"):
            create_population(league, name, "connect_four", CONFIG, {})
    assert stored_config(league, "demo") == CONFIG
    with pytest.raises(PlayerError, match="did you mean 'demo'"):
        stored_config(league, "demmo")
    with pytest.raises(PlayerError, match="there are: demo"):
        stored_config(league, "zzz")


def test_a_resume_supersedes_what_the_checkpoint_does_not_know(started: Started) -> None:
    league, first = started
    with LeagueWriter(league, first) as writer:
        for number in range(10):
            writer.game(game(number))
        writer.round(round_record("m0", 0))
        writer.snapshot(snapshot("a"))
        for number in range(10, 20):
            writer.game(game(number))
        writer.round(round_record("m0", 1))
        writer.round(round_record("m1", 0))
        writer.snapshot(snapshot("b", frames=10))
        writer.event(event())
    second = open_incarnation(
        league, first.population_id, 2, from_checkpoint="c1", last_game=9, last_rounds={"m0": 0}
    )
    assert (second.number, second.first_game) == (2, 10)
    with LeagueWriter(league, second) as writer:
        for number in range(10, 15):
            writer.game(game(number))
        writer.round(round_record("m0", 1))
        writer.snapshot(snapshot("b", frames=10))
    stands = list(population_games(league, "demo"))
    assert [(stored.record.number, stored.incarnation) for stored in stands] == [
        (n, 1) for n in range(10)
    ] + [(n, 2) for n in range(10, 15)]
    assert len(list(population_games(league, "demo", GameFilter(superseded=True)))) == 25
    assert [
        (stored.record.member, stored.record.round, stored.incarnation)
        for stored in list_rounds(league, "demo")
    ] == [("m0", 0, 1), ("m0", 1, 2)]
    assert len(list_rounds(league, "demo", superseded=True)) == 4
    known = [
        RoundDecision(
            each.record.directive, each.record.frames, each.record.verdict, each.created_at
        )
        for each in list_rounds(league, "demo")
    ]
    assert list_decisions(league, "demo") == list_decisions(league, "demo", "m0") == known
    assert list_decisions(league, "demo", "m1") == []
    assert [(row.name, row.rounds, row.frames) for row in list_members(league, "demo")][:2] == [
        ("m0", 2, 10),
        ("m1", 0, 0),
    ]
    assert [stored.record.snapshot_id[0] for stored in list_snapshots(league, "demo")] == [
        "a",
        "b",
    ], "made again, so it stands again"
    assert [stored.superseded for stored in list_events(league, "demo")] == [True]
    third = open_incarnation(league, first.population_id, 3, last_game=4)
    assert [stored.record.number for stored in population_games(league, "demo")] == list(range(5))
    assert (third.number, list_rounds(league, "demo")) == (3, [])


def test_a_resume_supersedes_what_came_behind_the_cut_before_another_game_ended(
    started: Started,
) -> None:
    league, first = started
    with LeagueWriter(league, first) as writer:
        writer.snapshot(snapshot("a"))
        writer.event(event("before the cut"))
        writer.game(game(0))
        known = CheckpointRows(*writer.position, frozenset({"a" * 64}))
        writer.event(Event("checkpoint", None, 10, "saved"))
        writer.snapshot(snapshot("b", frames=10))
        writer.event(event("behind the cut"))
    second = open_incarnation(league, first.population_id, 2, last_game=0, known=known)
    with LeagueWriter(league, second) as writer:
        writer.event(Event("resume", None, 10, "resumed"))
        writer.event(event("lost again"))
        writer.snapshot(snapshot("c", frames=10))
    open_incarnation(league, first.population_id, 3, last_game=0, known=known)
    assert [stored.record.snapshot_id[0] for stored in list_snapshots(league, "demo")] == ["a"]
    assert [stored.event.text for stored in list_events(league, "demo", superseded=False)] == [
        "before the cut",
        "saved",
        "resumed",
    ]
    open_incarnation(league, first.population_id, 4, known=NOTHING_KNOWN)
    assert list_snapshots(league, "demo") == [], "no checkpoint: not even the first snapshots stand"


def test_populations_are_listed_and_deleted(started: Started) -> None:
    league, incarnation = started
    other = open_incarnation(
        league, create_population(league, "other", "connect_four", CONFIG, {}), 1
    )
    for source in (incarnation, other):
        with LeagueWriter(league, source) as writer:
            for number in range(30):
                writer.game(game(number))
            writer.round(round_record(frames=700))
            writer.snapshot(snapshot("a", frames=500))
            writer.event(event())
    set_state(league, incarnation.population_id, "stopped")
    demo = list_populations(league)[0]
    assert (demo.name, demo.state, demo.members, demo.incarnations, demo.frames, demo.games) == (
        "demo",
        "stopped",
        4,
        1,
        700,
        30,
    )
    assert demo.size_bytes > 0
    plan = delete_population(league, "demo", dry_run=True)
    assert (plan.games, plan.snapshots, plan.rounds, plan.events, plan.incarnations) == (
        30,
        1,
        1,
        1,
        1,
    )
    assert len(list_populations(league)) == 2
    assert delete_population(league, "demo") == plan
    assert [row.name for row in list_populations(league)] == ["other"]
    assert len(list(population_games(league, "other"))) == 30
    with league.read() as connection:
        for table in (games, game_seats):
            assert connection.execute(table.select()).all() == []
        assert sum(row.count for row in connection.execute(game_blocks.select())) == 30
        seated = connection.execute(block_players.select()).all()
        assert {row.block_id >> NUMBER_BITS for row in seated} == {other.id}
    again = open_incarnation(
        league, create_population(league, "demo", "connect_four", CONFIG, {}), 1
    )
    assert again.id > other.id, "ids are never used again: games are named by them"


def test_a_read_within_a_read_sees_what_the_outer_one_sees(started: Started) -> None:
    league, incarnation = started

    def told() -> list[str]:
        return [stored.event.text for stored in list_events(league, "demo")]

    with LeagueWriter(league, incarnation) as writer:
        writer.event(event("before"))
        writer.drain(30)
        with league.read():
            assert told() == ["before"]
            writer.event(event("meanwhile"))
            writer.drain(30)
            assert told() == ["before"]
            with pytest.raises(PlayerError):
                list_events(league, "unknown")
            assert told() == ["before"]
        assert told() == ["before", "meanwhile"]


def test_a_start_notes_its_streams_and_those_of_earlier_programs_had_the_first(
    tmp_path: Path,
) -> None:
    league, start = new_league(tmp_path)
    assert streams_of(league, "demo") == {start.number: STREAMS}
    with league.write() as connection:
        connection.exec_driver_sql("UPDATE incarnations SET streams = NULL")
    assert streams_of(league, "demo") == {start.number: 1}
    league.close()
