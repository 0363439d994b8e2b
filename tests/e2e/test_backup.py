"""Backups of a service that trains, and backups and restores that are killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from api.reconcile.strays import STRAY_TIMEOUT_S
from arena.data.lock import holder
from arena.data.paths import population_paths
from tests.arena.tiny_populations import UNRATED, train
from tests.served import SMALL_TRAINING, Served, wait

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

# Retention removes nearly everything, at each of many checkpoints.
CONFIG: dict[str, Any] = {
    **SMALL_TRAINING,
    "snapshots": {"every_frames": 500, "keep_newest": 1, "thinned_every": 1000},
    "evaluation": {"share": 0.2, "final_games": 4},
    "checkpoints": {"every_s": 0.2},
}
BACKUPS = int(os.environ.get("ARENA_BACKUPS", "2"))
BIG_BYTES = 300 << 20


def command(*words: object) -> list[str]:
    return [sys.executable, "-P", "-m", "arena", *map(str, words)]


def arena(*words: object) -> Any:
    """The JSON that a command prints."""
    done = subprocess.run(command(*words, "--json"), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def test_backups_of_a_service_that_trains_are_verified_and_go_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    served, heads = Served(data), []
    lock = population_paths(data, "first").lock
    try:
        body = {"name": "first", "config": CONFIG, "start": True}
        served.call("POST", "/v1/populations", body)
        snapshots = population_paths(data, "first").snapshots
        wait(lambda: len(list(snapshots.glob("*"))) > 5, 120, served.log)
        for number in range(BACKUPS):
            path, there = tmp_path / f"{number}.tar", tmp_path / f"there{number}"
            made = arena("backup", path, "--data", data)
            assert made["warnings"] == []
            (population,) = arena("restore", path, "--data", there)["populations"]
            report = arena("verify", "first", "--head", population["head"], "--data", there)
            assert report["ok"]
            assert report["checkpoints"] == 1
            heads.append(population["head"])
            print(number, made["size_bytes"], population, report["rows_recorded"])
        assert len(set(heads)) == BACKUPS, "it trained on meanwhile"
        trainer = holder(lock)
        assert trainer is not None
        # Two services at once, as on a machine where a backup is tried out.
        beside = Served(there)
        try:
            wait(lambda: beside.state("first") == "running", 120, beside.log)
            own = holder(population_paths(there, "first").lock)
            time.sleep(STRAY_TIMEOUT_S + 2)
            assert holder(lock) == trainer, "the copy's service ended it"
            assert own not in (None, trainer)
        finally:
            beside.stop()
        assert arena("verify", "first", "--head", heads[-1], "--data", there)["ok"]
    finally:
        served.stop()


def _killed(words: list[str], begun: Any) -> None:
    """Run a command and kill it as soon as it has begun."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not begun():
            assert process.poll() is None, "it was faster than the test"
            assert time.monotonic() < deadline
            time.sleep(0.001)
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def test_a_killed_backup_or_restore_is_none_and_is_made_anew(tmp_path: Path) -> None:
    data, path, there = tmp_path / "data", tmp_path / "b.tar", tmp_path / "there"
    train(data, "run", UNRATED)
    big = data / "comparisons" / "big.json"
    big.parent.mkdir()
    with big.open("wb") as file:
        file.truncate(BIG_BYTES)  # it takes a moment to read
    before = {p: p.stat().st_mtime_ns for p in data.rglob("*") if p.is_file()}
    part = tmp_path / "b.tar.part"
    _killed(command("backup", path, "--data", data), lambda: _size(part) > BIG_BYTES // 10)
    assert not path.exists()
    words = command("restore", part, "--data", there)
    refused = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert refused.returncode == 1
    assert "no whole backup" in refused.stderr or "damaged" in refused.stderr
    assert not there.exists()
    arena("backup", path, "--data", data)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.tar", "data"], "nothing is left over"
    assert before.items() <= {p: p.stat().st_mtime_ns for p in data.rglob("*")}.items()

    aside = there / ".restoring"
    written = aside / "comparisons/big.json"
    _killed(command("restore", path, "--data", there), lambda: _size(written) > BIG_BYTES // 10)
    assert [p.name for p in there.iterdir()] == [".restoring"]
    arena("restore", path, "--data", there)
    assert not aside.exists()
    assert arena("verify", "run", "--data", there)["ok"]


def test_a_restore_that_was_killed_between_two_renames_is_used_by_no_command(
    tmp_path: Path,
) -> None:
    data, path, there = tmp_path / "data", tmp_path / "b.tar", tmp_path / "there"
    train(data, "run", UNRATED)
    arena("backup", path, "--data", data)
    arena("restore", path, "--data", there)
    (there / ".restoring").mkdir()
    (there / "league.db").rename(there / ".restoring/league.db")
    for words in (("train", "connect_four", "--name", "new"), ("verify", "run")):
        done = subprocess.run(
            command(*words, "--data", there), capture_output=True, text=True, timeout=120
        )
        assert done.returncode != 0
        assert not (there / "league.db").exists()
    done = subprocess.run(
        command("restore", path, "--data", there), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert "holds part of a restore that was interrupted" in done.stderr
    shutil.rmtree(there)
    arena("restore", path, "--data", there)
