"""The harness sees what it looks for: orphans, games that are lost, scores that count too much,
growth that stopped.
"""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from arena.data.status import MemberRow, RowCounts, RunStatus
from tests.e2e.faults import processes
from tests.e2e.faults.league_log import LeagueLog, miscounted_scores
from tests.e2e.faults.recovery import Growth

ORPHAN = """
import subprocess, sys
nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], **nowhere).pid)
"""
TABLES = """
CREATE TABLE games (
    id INTEGER PRIMARY KEY, incarnation_id INTEGER, number INTEGER, kind INTEGER, voided INTEGER, superseded INTEGER, trajectory_hash BLOB
);
CREATE TABLE game_seats (game_id INTEGER, seat INTEGER, player_id INTEGER, generation INTEGER);
CREATE TABLE players (id INTEGER PRIMARY KEY, kind INTEGER, name TEXT);
CREATE TABLE rounds (id INTEGER PRIMARY KEY, member TEXT, round INTEGER, scores TEXT, superseded INTEGER);
INSERT INTO players VALUES (1, 0, 'm0'), (2, 0, 'm1');
"""  # noqa: E501


def test_an_orphan_is_found_by_its_mark() -> None:
    mark = "test-of-the-harness"
    made = subprocess.run(
        [sys.executable, "-c", ORPHAN],
        env={**os.environ, processes.MARK: mark},
        capture_output=True,
        text=True,
        check=True,
    )
    orphan = int(made.stdout)
    try:
        assert processes.marked(mark) == [orphan]
        assert processes.survivors(mark, None, 0.0) == [processes.words(orphan)]
        assert (
            0 < processes.own_bytes(orphan) <= processes.pss_bytes(orphan)
            and processes.descriptors(orphan) > 0
        )
    finally:
        os.kill(orphan, 9)
    assert processes.survivors(mark, None, 30.0) == []
    # A process that ends has no environment, and thus no mark, for a moment before it is gone.
    with suppress(psutil.NoSuchProcess):
        psutil.Process(orphan).wait(30.0)
    assert not processes.alive(orphan)


@pytest.fixture
def league(tmp_path: Path) -> Path:
    """Ten training games of two members, the fourth voided."""
    path = tmp_path / "league.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(TABLES)
        for number in range(10):
            connection.execute(
                "INSERT INTO games VALUES (?, 1, ?, 0, ?, 0, ?)",
                (number + 1, number, number == 3, bytes([number])),
            )
            connection.executemany(
                "INSERT INTO game_seats VALUES (?, ?, ?, 0)",
                [(number + 1, seat, seat + 1) for seat in range(2)],
            )
    return path


def test_a_game_that_is_lost_or_altered_after_it_was_seen_is_named(
    league: Path, tmp_path: Path
) -> None:
    log = LeagueLog(league, tmp_path / "log")
    log.poll()
    log.poll()
    assert log.games == 10 and log.problems() == []
    with closing(sqlite3.connect(league)) as connection, connection:
        connection.execute("DELETE FROM games WHERE number = 4")
        connection.execute("UPDATE games SET trajectory_hash = x'ff' WHERE number = 5")
    assert log.problems() == [
        "2 acknowledged games are not in the league exactly once, the first: 1 4 04"
    ]


@pytest.mark.parametrize(("games", "right"), [(9, True), (10, False)])
def test_a_score_that_counts_a_voided_game_is_named(league: Path, games: int, right: bool) -> None:
    scores = [{"member": "m1", "games": games, "objective": 0.5, "first_game": 0, "last_game": 9}]
    with closing(sqlite3.connect(league)) as connection, connection:
        connection.execute("INSERT INTO rounds VALUES (1, 'm0', 1, ?, 0)", (json.dumps(scores),))
    expected = [] if right else ["round 1 of m0 counts 10 games of m1; the league has 9"]
    assert miscounted_scores(league) == expected


def test_growth_is_of_every_learning_member_and_twice() -> None:
    growth = Growth()
    for second, (first, other) in enumerate(
        [(10, 10), (20, 10), (30, 20), (30, 20), (30, 15), (30, 25)]
    ):
        growth.look(status(float(second), first, other))
        assert not growth.done or second == 5
    assert growth.done
    growth = Growth()
    growth.look(status(0.0, 10, 10))
    growth.look(status(0.0, 20, 20))
    growth.look(status(1.0, 20, 20))
    assert not growth.done, "the same look twice is one look"


def status(written_at: float, first: int, other: int) -> RunStatus:
    """Two members that learn, and one that has finished."""
    members = (
        MemberRow("m0", first, None, "learning"),
        MemberRow("m1", other, None, "learning"),
        MemberRow("m2", 99, None, "finished"),
    )
    return RunStatus("run", 1, "inline", 0.0, written_at, "", (), members, RowCounts(0, 0, 0, {}))
