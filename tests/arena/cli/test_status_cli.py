"""`arena status`: the table, the JSON, and the words for a run that is not there."""

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arena.cli import status as status_cli
from arena.cli.app import run
from arena.data.lock import PopulationLock
from arena.data.paths import PopulationPaths, population_paths
from arena.data.status import write_status
from tests.arena.sample_status import STATUS

Output = pytest.CaptureFixture[str]


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PopulationPaths:
    monkeypatch.setenv("ARENA_DATA", str(tmp_path))
    paths = population_paths(tmp_path, "first")
    paths.root.mkdir(parents=True)
    paths.config.write_text("{}")
    return paths


@pytest.fixture
def running(paths: PopulationPaths) -> Iterator[PopulationPaths]:
    """A population that this process holds and has just told about."""
    write_status(paths.status, replace(STATUS, pid=os.getpid(), written_at=10.0**10))
    with PopulationLock(paths.lock, "first"):
        yield paths


def printed(capsys: Output, *arguments: str) -> str:
    assert run(["status", "first", *arguments]) == 0
    return capsys.readouterr().out


def test_every_process_and_member_of_a_running_training(
    running: PopulationPaths, capsys: Output
) -> None:
    lines = printed(capsys).splitlines()
    assert f"first is running (process {os.getpid()}), placement central" in lines[0]
    (worker,) = (line.split() for line in lines if line.startswith("worker-0"))
    assert worker == [
        "worker-0",
        "4243",
        "worker",
        "simulating",
        "512",
        "0",
        "1",
        "0.2",
        "s",
        "ago",
        "75%",
        "-",
        "-",
        "25%",
    ]
    assert any(line.startswith("server-0") and "server, learner m0 m1" in line for line in lines)
    heads = ["member", "frames", "lag", "margin", "a", "game", "state"]
    assert heads in [line.split() for line in lines]
    assert any(line.split() == ["m0", "900", "1.50", "0.625", "learning"] for line in lines)
    assert any(line.split() == ["m1", "0", "-", "-", "failed"] for line in lines)
    assert lines[-1] == "rows: 1,000 produced, 900 trained, 60 standing; dropped: 40 generation"


def test_json_is_one_line(running: PopulationPaths, capsys: Output) -> None:
    (line,) = printed(capsys, "--json").splitlines()
    table = json.loads(line)
    assert table["running"] and table["pid"] == os.getpid() and not table["stale"]
    assert [process["name"] for process in table["processes"]] == [
        "main",
        "worker-0",
        "worker-1",
        "server-0",
    ]


def test_a_file_that_is_not_written_any_more_is_called_stale(
    running: PopulationPaths, capsys: Output
) -> None:
    write_status(running.status, replace(STATUS, pid=os.getpid()))
    assert "STALE: written" in printed(capsys) and json.loads(printed(capsys, "--json"))["stale"]


def test_not_running_is_said_first(paths: PopulationPaths, capsys: Output) -> None:
    assert "is not running; it has written no status yet" in printed(capsys)
    write_status(paths.status, STATUS)
    assert printed(capsys).startswith("first is not running: killed; ")
    write_status(paths.status, replace(STATUS, ended="finished"))
    assert printed(capsys).startswith("first is not running: finished; ")
    assert json.loads(printed(capsys, "--json"))["running"] is False


def test_a_start_that_has_not_written_yet_shows_nothing_old(
    paths: PopulationPaths, capsys: Output
) -> None:
    write_status(paths.status, STATUS)
    with PopulationLock(paths.lock, "first"):
        assert printed(capsys) == f"first is starting (process {os.getpid()})\n"


def test_watching_ends_with_the_training(
    paths: PopulationPaths, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_status(paths.status, replace(STATUS, pid=os.getpid(), written_at=10.0**10))
    lock, looked = PopulationLock(paths.lock, "first"), threading.Event()
    lock.__enter__()

    def pause(seconds: float) -> None:
        if looked.is_set():
            lock.__exit__(None, None, None)
        looked.set()

    monkeypatch.setattr(status_cli.time, "sleep", pause)
    states = [
        json.loads(line)["state"] for line in printed(capsys, "--watch", "--json").splitlines()
    ]
    assert states == ["running", "running", "killed"]


def test_nobody_of_that_name(tmp_path: Path, paths: PopulationPaths, capsys: Output) -> None:
    assert run(["status", "frist"]) == 2
    assert "no population 'frist'" in capsys.readouterr().err
