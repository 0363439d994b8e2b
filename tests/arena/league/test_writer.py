"""The league's writer: its order, group commits, retries, and the death of its process."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from arena.league.database import League, damage, open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.matches import create_match, find_match, finish_match, stored_games
from arena.league.populations import Incarnation, create_population, open_incarnation
from arena.league.store import RowStore
from arena.league.stored_history import list_events, list_rounds
from arena.league.stored_snapshots import list_snapshots
from arena.league.writer import LeagueWriter
from pbt.errors import EngineError, PbtError
from tests.arena.league.samples import (
    RANDOM,
    event,
    game,
    new_league,
    round_record,
    snapshot,
    snapshot_player,
)

Started = tuple[League, Incarnation]
DEADLINE_S = 60.0


def numbers(league: League) -> list[int]:
    return [
        stored.record.number
        for stored in population_games(league, "demo", GameFilter(superseded=True))
    ]


def test_rows_wait_while_the_folder_is_away(started: Started) -> None:
    league, incarnation = started
    folder, away = league.path.parent, league.path.parent.with_name("away")
    told = list[str | None]()
    with LeagueWriter(league, incarnation, on_trouble=told.append) as writer:
        writer.game(game(0))
        writer.drain(DEADLINE_S)
        folder.rename(away)
        writer.game(game(1))
        with pytest.raises(PbtError, match="not there any more"):
            writer.drain(0.5)
        assert not folder.exists()
        shutil.copytree(away, folder)
        writer.drain(DEADLINE_S)
        assert numbers(league) == [0, 1]
    assert told[-1] is None and told[0] is not None and "put it back" in told[0]


def test_rows_arrive_without_being_asked_for(started: Started) -> None:
    league, incarnation = started
    with LeagueWriter(league, incarnation) as writer:
        writer.game(game(0))
        with writer._changed:
            assert writer._changed.wait_for(lambda: writer.backlog == 0, DEADLINE_S)
        assert numbers(league) == [0]


def test_a_repeated_commit_changes_nothing(started: Started) -> None:
    league, incarnation = started
    for _ in range(2):
        with LeagueWriter(league, incarnation) as writer:
            for number in range(5):
                writer.game(game(number))
            writer.round(round_record())
            writer.snapshot(snapshot("a"))
            writer.event(event())
    assert numbers(league) == list(range(5))
    assert (
        len(list_rounds(league, "demo"))
        == len(list_snapshots(league, "demo"))
        == len(list_events(league, "demo"))
        == 1
    )


def test_a_locked_database_is_named_waited_for_and_nothing_is_lost(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, incarnation = started[0].path, started[1]
    monkeypatch.setattr("arena.league.database.BUSY_TIMEOUT_MS", 10)
    told: list[str | None] = []
    said = threading.Event()

    def on_trouble(trouble: str | None) -> None:
        told.append(trouble)
        said.set()

    with open_league(path) as league, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        writer = LeagueWriter(league, incarnation, on_trouble=on_trouble)
        for number in range(10):
            writer.game(game(number))
        with pytest.raises(
            PbtError, match=r"10 rows were not committed within 0\.5 s: database is locked"
        ):
            writer.drain(0.5)
        assert said.wait(DEADLINE_S)
        assert writer.trouble == "database is locked"
        assert writer.backlog == 10
        other.execute("ROLLBACK")
        writer.drain(DEADLINE_S)
        writer.close()
    assert told == ["database is locked", None]
    assert numbers(started[0]) == list(range(10))


def test_a_record_that_is_no_row_is_named(started: Started) -> None:
    league, incarnation = started
    writer = LeagueWriter(league, incarnation)
    writer.game(game(1 << 36))
    with pytest.raises(PbtError, match="game number 68719476736"):
        writer.drain(0.5)
    with pytest.raises(PbtError):
        writer.close(0.1)
    assert not writer._thread.is_alive()


def test_a_refusal_for_good_stops_the_writer_at_once_and_everyone_is_told(started: Started) -> None:
    league, incarnation = started
    told: list[str | None] = []
    writer = LeagueWriter(league, incarnation, on_trouble=told.append)
    record = snapshot("a")
    object.__setattr__(record, "role", None)
    writer.snapshot(record)
    began = time.monotonic()
    for _ in range(2):
        with pytest.raises(
            PbtError, match="NOT NULL constraint failed: snapshots.role; nothing more is stored"
        ):
            writer.drain(DEADLINE_S)
    assert writer.trouble == "NOT NULL constraint failed: snapshots.role"
    assert told == [writer.trouble]
    with pytest.raises(PbtError, match="NOT NULL"):
        writer.game(game(1))
    with pytest.raises(PbtError, match="NOT NULL"):
        writer.event(event())
    with pytest.raises(PbtError, match="NOT NULL"):
        writer.refuse_if_stopped()
    with pytest.raises(PbtError, match="NOT NULL"):
        writer.close()
    assert time.monotonic() - began < DEADLINE_S / 4
    assert not writer._thread.is_alive()


def test_what_is_no_record_at_all_stops_the_writer_by_name(started: Started) -> None:
    league, incarnation = started
    broken = game(0)
    object.__setattr__(broken, "seed", 1 << 70)
    writer = LeagueWriter(league, incarnation)
    writer.game(broken)
    with pytest.raises(PbtError, match="OverflowError: Python int too large"):
        writer.drain(DEADLINE_S)
    with pytest.raises(PbtError, match="OverflowError"):
        writer.close()


def test_a_number_used_for_two_games_is_named(started: Started) -> None:
    league, incarnation = started
    twice = game(0)
    object.__setattr__(twice, "seed", 99)
    writer = LeagueWriter(league, incarnation)
    writer.game(game(0))
    writer.game(twice)
    with pytest.raises(PbtError, match="game number 0 was given twice"):
        writer.close(0.5)
    assert numbers(league) == []


def test_two_numbers_for_one_game_are_named(started: Started) -> None:
    league, incarnation = started
    same_count = game(8)
    object.__setattr__(same_count, "environment", 0)
    object.__setattr__(same_count, "count", 0)
    with league.write() as connection, pytest.raises(EngineError, match="count 0, as another game"):
        RowStore(incarnation).write(connection, [game(0), same_count])


def test_bad_numbers_of_a_round_are_refused_where_they_come_from(started: Started) -> None:
    league, incarnation = started
    bad = round_record()
    object.__setattr__(bad, "rules", {"copy_gap": float("nan")})
    with LeagueWriter(league, incarnation) as writer, pytest.raises(ValueError, match="JSON"):
        writer.round(bad)


def test_a_match_is_planned_played_and_finished(started: Started) -> None:
    league, _ = started
    match = create_match(
        league, "connect_four", {}, [snapshot_player("a"), RANDOM], 4, 7, {"greedy": False}
    )
    given = [
        game(number, (snapshot_player("a"), RANDOM), (0, 1), "evaluation", pair=number // 2)
        for number in range(4)
    ]
    with LeagueWriter(league, match) as writer:
        for record in given:
            writer.game(record)
        with pytest.raises(EngineError, match="only games"):
            writer.event(event())
    finish_match(league, match, 4)
    assert stored_games(league, match) == given
    stored = find_match(league, match.id)
    assert stored.players == (snapshot_player("a"), RANDOM)
    assert stored.finished_at is not None


_CHILD = """
import sys
from pathlib import Path
from arena.league.database import open_league
from arena.league.populations import Incarnation, create_population, open_incarnation
from arena.league.writer import LeagueWriter
from tests.arena.league.samples import game

path, incarnation, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
writer = LeagueWriter(open_league(Path(path)), Incarnation(incarnation, 1, 1, 0))
for number in range(first, last):
    writer.game(game(number))
    if number % 150 == 0:
        writer.drain(60)
        print(number, flush=True)
writer.close()
print("done", flush=True)
"""


def child(league: League, incarnation_id: int, first: int, last: int) -> subprocess.Popen[str]:
    words = [
        sys.executable,
        "-c",
        _CHILD,
        str(league.path),
        str(incarnation_id),
        str(first),
        str(last),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)


def test_sigkill_loses_nothing_acknowledged(tmp_path: Path) -> None:
    league, incarnation = new_league(tmp_path)
    rng, first = random.Random(5), 0
    for _ in range(10):
        process = child(league, incarnation.id, first, 10**9)
        assert process.stdout is not None
        acknowledged = first - 1
        for _ in range(rng.randrange(1, 8)):
            acknowledged = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        process.stdout.close()
        process.wait(DEADLINE_S)
        acknowledged = int(rest[-1]) if rest else acknowledged
        stored = numbers(league)
        assert stored == list(range(len(stored))), "a prefix, in order"
        assert len(stored) > acknowledged
        assert damage(league) == []
        first = len(stored)
    league.close()


_STREAM = """
import sys, time
from pathlib import Path
from arena.league.database import open_league
from arena.league.populations import Incarnation
from arena.league.writer import LeagueWriter
from tests.arena.league.samples import game

writer = LeagueWriter(open_league(Path(sys.argv[1])), Incarnation(int(sys.argv[2]), 1, 1, 0))
for number in range(10**9):
    record = game(number)
    print(time.monotonic(), flush=True)
    writer.game(record)
    time.sleep(0.002)
"""


def games_stored(league: League) -> int:
    """How many training games are committed, without reading them."""
    with league.read() as connection:
        return int(connection.exec_driver_sql("SELECT TOTAL(count) FROM game_blocks").scalar_one())


def test_a_kill_loses_at_most_a_second_of_games(tmp_path: Path) -> None:
    """At no moment does a game wait longer to be committed, and what is committed outlives a kill.

    A busy machine may hold up a moment in ten.
    """
    league, incarnation = new_league(tmp_path)
    words = [sys.executable, "-c", _STREAM, str(league.path), str(incarnation.id)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (tmp_path / "handed").open("w+") as handed:
        process = subprocess.Popen(words, stdout=handed, env=environment)
        looks: list[tuple[float, int]] = []
        try:
            while len(looks) < 60:
                # Before the look: what is committed meanwhile was waiting then.
                now, stored = time.monotonic(), games_stored(league)
                if stored:
                    looks.append((now, stored))
                assert process.poll() is None
                time.sleep(0.04)
        finally:
            process.kill()
            process.wait(DEADLINE_S)
        handed.seek(0)
        times = [float(line) for line in handed.read().split()]
    assert len(numbers(league)) >= looks[-1][1] > looks[0][1] and damage(league) == []
    waited = sorted(now - times[stored] for now, stored in looks if stored < len(times))
    assert len(waited) > 40 and waited[len(waited) * 9 // 10] < 1.0, waited
    league.close()


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    league, incarnation = new_league(tmp_path)
    other = open_incarnation(
        league, create_population(league, "other", "connect_four", {}, {}), os.getpid()
    )
    writing = [child(league, source.id, 0, 6000) for source in (incarnation, other)]
    for process in writing:
        out, _ = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0
        assert out.split()[-1] == "done"
    for name in ("demo", "other"):
        assert [stored.record.number for stored in population_games(league, name)] == list(
            range(6000)
        )
    assert damage(league) == []
    league.close()
