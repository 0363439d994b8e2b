"""SIGKILL in the middle of a match: `--resume` comes to the games, rows and report of a match that
was left alone.

ARENA_KILLS says how many kills (default 3).
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.game_rows import read_seats
from arena.league.schema import games, match_game_key
from tests.arena.tiny_populations import CONNECT_FOUR, train

KILLS = int(os.environ.get("ARENA_KILLS", "3"))
# So many that they take longer than a few commits.
GAMES = 3000
DEADLINE_S = 120.0


def start(data: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-P",
        "-m",
        "arena",
        "match",
        *arguments,
        "--data",
        str(data),
        "--json",
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def begun(process: subprocess.Popen[str]) -> int:
    """The number of its match, as soon as it says so."""
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.match(r"match (\d+):", line)
    assert found, line + process.stderr.read()
    return int(found[1])


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err
    report: dict[str, Any] = json.loads(out)
    return report


def rows(data: Path, match: int) -> list[tuple[Any, ...]]:
    """Everything stored of its games and seats but which match it was, and when."""
    with open_league(league_path(data), read_only=True) as league, league.read() as connection:
        within = (games.c.id >= match_game_key(match, 0), games.c.id < match_game_key(match + 1, 0))
        found = connection.execute(select(games).where(*within).order_by(games.c.id)).all()
        seats = {
            page[0].id: read_seats(connection, [row.id for row in page])
            for page in [found[i : i + 500] for i in range(0, len(found), 500)]
        }
        by_game = {game: seated for page in seats.values() for game, seated in page.items()}
    kept = [
        column.name
        for column in games.columns
        if column.name not in ("id", "match_id", "committed_at")
    ]
    return [
        (*(getattr(row, name) for name in kept), *(tuple(seat)[1:] for seat in by_game[row.id]))
        for row in found
    ]


def wait_for(data: Path, match: int, committed: int, process: subprocess.Popen[str]) -> None:
    """Until so many of its games are committed, or it has ended."""
    within = (games.c.id >= match_game_key(match, 0), games.c.id < match_game_key(match + 1, 0))
    with open_league(league_path(data), read_only=True) as league:
        while process.poll() is None:
            with league.read() as connection:
                if (
                    connection.execute(
                        select(func.count()).select_from(games).where(*within)
                    ).scalar_one()
                    >= committed
                ):
                    return
            time.sleep(0.005)


def said(report: dict[str, Any]) -> dict[str, Any]:
    """All but what a kill may change. The head of the chain depends on the batches of commits."""
    own = ("match", "games_per_s", "head")
    return {name: value for name, value in report.items() if name not in own}


@pytest.mark.slow
@pytest.mark.timeout(180 + 30 * KILLS)
def test_a_killed_match_goes_on_to_the_same_games(tmp_path: Path) -> None:
    train(tmp_path, "demo", CONNECT_FOUR)
    asked = ["demo/m0", "oneply", "--games", str(GAMES), "--seed", "7"]
    whole = start(tmp_path, *asked)
    first = begun(whole)
    report = ended(whole)
    expected = rows(tmp_path, first)
    assert len(expected) == report["games"] == GAMES
    rng, stored, again = random.Random(1), [], 0
    for _ in range(KILLS):
        victim = start(tmp_path, *asked)
        match = begun(victim)
        wait_for(tmp_path, match, rng.randrange(GAMES), victim)
        # A commit comes every quarter of a second.
        time.sleep(rng.uniform(0.0, 0.25))
        victim.send_signal(signal.SIGKILL)
        victim.communicate(timeout=DEADLINE_S)
        kept = rows(tmp_path, match)
        stored.append(len(kept))
        assert {tuple(row) for row in kept} <= {tuple(row) for row in expected}, (
            "a committed game is one of the plan"
        )
        assert len(kept) % 2 == 0, "half a pair was committed"
        resumed = start(tmp_path, "--resume", str(match))
        assert begun(resumed) == match
        if rng.random() < 0.3:
            again += 1
            wait_for(tmp_path, match, rng.randrange(stored[-1], GAMES + 1), resumed)
            resumed.send_signal(signal.SIGKILL)
            resumed.communicate(timeout=DEADLINE_S)
            resumed = start(tmp_path, "--resume", str(match))
            begun(resumed)
        assert said(ended(resumed)) == said(report)
        assert rows(tmp_path, match) == expected
    print(
        f"{KILLS} kills, {again} of the resumed ones killed again; games stored at the kill: "
        f"{sorted(stored)}; every match equal to the whole one"
    )
    assert any(0 < count < GAMES for count in stored), stored
