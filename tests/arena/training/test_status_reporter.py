"""The watch over a running engine: what it tells follows from the engine, and a disk that
refuses stops nothing.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.data.paths import PopulationPaths
from arena.data.status import MemberRow, Moment, ProcessRow, RowCounts, age_s, read_status
from arena.data.telemetry import TELEMETRY_FILE, TelemetryWriter
from arena.training.progress import restarts_text
from arena.training.status_reporter import TELEMETRY_EVERY_S, StatusReporter
from pbt.population.members import Member
from pbt.records import MemberScore
from pbt.runtime.engine import ProcessStatus

MEMBERS = {
    "m0": Member("m0", "player", 0, {}, updates=34, refused_updates=30),
    "m1": Member("m1", "player", 1, {}, finished=True),
    "m2": Member("m2", "player", 2, {}, failed=True, failure="its learner was lost"),
}
WINDOW = SimpleNamespace(
    objective="margin", mean=lambda name: MemberScore(name, 5 * (name == "m0"), 0.5, 0, 9)
)
PROCESSES = [
    ProcessStatus("main", 7, ("main",), "waiting"),
    ProcessStatus(
        "worker-0", 8, ("worker", "learner m0"), "learning", 123.456, 2, 0.25, {"learn": 1.23456}, 5
    ),
]
ENGINE: Any = SimpleNamespace(
    config=SimpleNamespace(runtime=SimpleNamespace(placement="inline")),
    controller=SimpleNamespace(
        members=MEMBERS, window=WINDOW, certifier=SimpleNamespace(summary=None)
    ),
    clocks=lambda: {"m0": 10, "m1": 20, "m2": 0},
    processes=lambda: PROCESSES,
    rows_produced=lambda: 50,
    rows_trained=30,
    rows_standing=lambda: 15,
    dropped=lambda: Counter(finished=5),
)
SINK: Any = SimpleNamespace(lags={"m0": 1.25}, trouble=None)
EDITS: Any = SimpleNamespace(taken=3, refused=2)


class Clock:
    """Both clocks, set by hand."""

    def __init__(self) -> None:
        self.now, self.jump_s = 1000.0, 0.0

    def __call__(self) -> Moment:
        return Moment(self.now + self.jump_s, self.now - 900.0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watching(tmp_path: Path, clock: Clock) -> Iterator[StatusReporter]:
    with TelemetryWriter(tmp_path / "metrics", 1) as telemetry:
        yield StatusReporter(
            "first", PopulationPaths(tmp_path), ENGINE, SINK, telemetry, EDITS, clock
        )


def test_a_look_tells_what_the_engine_says(
    tmp_path: Path, watching: StatusReporter, clock: Clock
) -> None:
    clock.now = 1001.0
    assert watching.report() == read_status(tmp_path / "status.json")
    status = watching.read()
    assert (
        status.population,
        status.placement,
        status.started_at,
        status.written_at,
        status.ended,
    ) == ("first", "inline", 1000.0, 1001.0, "")
    assert status.processes[1] == ProcessRow(
        "worker-0", 8, ("worker", "learner m0"), "learning", 123.5, 2, 0.25, 5, {"learn": 1.235}
    )
    assert status.members == (
        MemberRow("m0", 10, 1.25, "learning", 0.5, 34, 30),
        MemberRow("m1", 20, None, "finished"),
        MemberRow("m2", 0, None, "failed", failure="its learner was lost"),
    )
    assert status.ranked_by == "margin"
    assert status.rows == RowCounts(50, 30, 15, {"finished": 5})


def test_telemetry_is_kept_every_ten_seconds_and_at_the_end(
    tmp_path: Path, watching: StatusReporter, clock: Clock
) -> None:
    path = tmp_path / "metrics" / TELEMETRY_FILE
    for _ in range(25):
        clock.now += 1.0
        watching.report()
    assert len(path.read_bytes().splitlines()) == int(25 // TELEMETRY_EVERY_S)
    watching.report("finished")
    assert len(path.read_bytes().splitlines()) == int(25 // TELEMETRY_EVERY_S) + 1


def test_a_wall_clock_that_is_set_back_changes_no_duration(
    tmp_path: Path, watching: StatusReporter, clock: Clock
) -> None:
    clock.now += 5.0
    clock.jump_s = -86_400.0
    status = watching.report()
    assert status.ran_s == 5.0
    assert status.written_at < status.started_at
    clock.now += 3.0
    assert age_s(status, clock(), running=True) == 3.0
    watching.report("finished")
    lines = (tmp_path / "metrics" / TELEMETRY_FILE).read_text().splitlines()
    assert json.loads(lines[-1])["elapsed_s"] == 8.0


def test_a_run_that_broke_leaves_what_was_seen_last_and_why(
    tmp_path: Path, watching: StatusReporter
) -> None:
    watching.give_up("failed: nothing was seen yet")
    assert read_status(tmp_path / "status.json") is None
    watching.report()
    watching.give_up("failed: EnvError: raised")
    status = read_status(tmp_path / "status.json")
    assert (
        status is not None
        and status.ended == "failed: EnvError: raised"
        and len(status.processes) == 2
    )


def test_a_full_disk_stops_nothing_and_is_said_once(
    watching: StatusReporter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("arena.training.status_reporter.write_status", refuse)
    # An earlier test's training may have turned the program's log into its own file.
    monkeypatch.setattr(logging.getLogger("arena"), "propagate", True)
    monkeypatch.setattr(logging.getLogger("arena"), "handlers", [])
    for _ in range(3):
        watching.report()
    assert [record.getMessage() for record in caplog.records] == [
        "status and telemetry could not be written: [Errno 28] No space left on device"
    ]


def test_restarts_and_gaps_in_words() -> None:
    assert restarts_text(PROCESSES[:1]) is None
    assert restarts_text(PROCESSES) == "restarted: worker-0 twice"
    gone = [
        ProcessStatus("worker-0", 0, ("worker",), "down", restarts=1),
        ProcessStatus("server-0", 0, ("server",), "down", restarts=4),
    ]
    assert (
        restarts_text(gone)
        == "down: worker-0, server-0; restarted: worker-0 once, server-0 4 times"
    )
