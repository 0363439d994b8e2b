"""SIGKILL at random moments, resume, and nothing shows: weights and game log equal those of the
run that was never interrupted. In rounds they do so in other placements than it was begun in.
"""

import hashlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.game_rows import population_games
from pbt.checkpoint.folders import checkpoint_folders

CONFIG = """
stop_at_frames = 4000
[env]
name = "connect_four"
[sampling]
environments = 16
rollout_steps = 8
[model]
core = "gru"
gru_size = 16
hidden = [32]
[learning]
batch_steps = 128
[pbt]
period_frames = 800
warmup_frames = 800
min_games = 10
copy_gap = 0.0
[matchmaking]
past_share = 0.2
past_window = 4
[snapshots]
every_frames = 500
[evaluation]
share = 0.1
final_games = 4
[checkpoints]
every_s = 0.3
[runtime]
placement = "serial"
"""

KILLS = 6
# By rhythm, where it goes on after each kill, in turn.
RESUMED: dict[str, list[list[str]]] = {
    "async": [["placement=serial"]],
    "hts": [
        ["placement=inline", "workers=2"],
        ["placement=central", "workers=2", "servers=2", "groups=2"],
        ["placement=serial"],
    ],
}


def settings(*values: str) -> list[str]:
    """As options of `arena train`."""
    return [word for value in values for word in ("--set", f"runtime.{value}")]


def arena(data: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-P",
        "-m",
        "arena",
        "train",
        *arguments,
        "--data",
        str(data),
        "--json",
    ]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=data
    )


def finish(process: subprocess.Popen[str]) -> str:
    """The digest of the weights that a training ended with."""
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    digest: str = json.loads(out.splitlines()[-1])["weights_sha256"]
    return digest


def game_log(data: Path) -> str:
    """SHA-256 over every game that counts, in order, without what belongs to a start rather than
    to the game.
    """
    digest = hashlib.sha256()
    with open_league(league_path(data), read_only=True) as league:
        games = [stored.record for stored in population_games(league, "run")]
    for game in sorted(games, key=lambda game: game.number):
        digest.update(repr(game).encode())
    assert [game.number for game in sorted(games, key=lambda game: game.number)] == list(
        range(len(games))
    )
    return digest.hexdigest()


def start(data: Path, rhythm: str) -> subprocess.Popen[str]:
    data.mkdir()
    (data / "run.toml").write_text(CONFIG)
    return arena(data, "run.toml", *settings(f"sync={rhythm}"))


def kill_when_saved(
    process: subprocess.Popen[str], data: Path, checkpoints: int, delay_s: float
) -> bool:
    """SIGKILL a moment after so many checkpoints were written; False when the training was
    faster.
    """
    folder, deadline = population_paths(data, "run").checkpoints, time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        folders = checkpoint_folders(folder)
        if folders and int(folders[-1].name) >= checkpoints:
            break
        time.sleep(0.01)  # polling a file, with a deadline
    time.sleep(delay_s)  # the moment of the kill is the test's input
    if process.poll() is not None:
        return False
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    return True


@pytest.mark.slow
@pytest.mark.parametrize("rhythm", RESUMED)
def test_killed_and_resumed_equals_uninterrupted(rhythm: str, tmp_path: Path) -> None:
    expected = finish(start(tmp_path / "whole", rhythm))
    moments, layouts = random.Random(1), itertools.cycle(RESUMED[rhythm])
    data = tmp_path / "killed"
    process, killed = start(data, rhythm), 0
    while killed < KILLS:
        written = len(checkpoint_folders(population_paths(data, "run").checkpoints))
        newest = (
            int(checkpoint_folders(population_paths(data, "run").checkpoints)[-1].name)
            if written
            else 0
        )
        if not kill_when_saved(
            process, data, newest + moments.randint(0, 1), moments.uniform(0.0, 0.6)
        ):
            break
        killed += 1
        process = arena(data, "--resume", "run", *settings(*next(layouts)))
    assert killed >= 5, "the training ended before it could be killed often enough"
    assert finish(process) == expected
    assert game_log(data) == game_log(tmp_path / "whole")
