"""`status.json` is read as written; readers tell running, ended, hanging and killed runs apart."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from arena.data.lock import PopulationLock
from arena.data.paths import PopulationPaths
from arena.data.status import (
    STALE_AFTER_S,
    MemberRow,
    Moment,
    PopulationView,
    ProcessRow,
    RowCounts,
    RunStatus,
    look,
    look_json,
    read_status,
    write_status,
)
from pbt.errors import PbtError
from tests.arena.sample_status import STATUS


def test_what_is_written_is_read_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    assert read_status(path) is None
    write_status(path, STATUS)
    write_status(path, replace(STATUS, ended="finished"))
    assert read_status(path) == replace(STATUS, ended="finished")
    assert [file.name for file in tmp_path.iterdir()] == ["status.json"]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "3", '{"population": "a"}', json.dumps({**asdict(STATUS), "rows": 3})],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "status.json").write_text(content)
    with pytest.raises(PbtError, match=r"status\.json: damaged"):
        read_status(tmp_path / "status.json")


def seen(pid: int | None, status: RunStatus | None, age_s: float = 1.0) -> PopulationView:
    return PopulationView("first", pid, status, Moment(STATUS.written_at + age_s, 50.0))


@pytest.mark.parametrize(
    ("look", "state", "running", "stale"),
    [
        (seen(STATUS.pid, STATUS), "running", True, False),
        (seen(STATUS.pid, STATUS, STALE_AFTER_S + 1), "running", True, True),
        (seen(STATUS.pid + 1, STATUS, 3600), "starting", True, False),
        (seen(STATUS.pid, replace(STATUS, ended="stopped and saved")), "starting", True, False),
        (seen(5, None), "starting", True, False),
        (seen(None, None), "never trained", False, False),
        (seen(None, STATUS, 3600), "killed", False, False),
        (
            seen(None, replace(STATUS, ended="failed: EnvError: raised")),
            "failed: EnvError: raised",
            False,
            False,
        ),
    ],
)
def test_what_a_reader_makes_of_it(
    look: PopulationView, state: str, running: bool, stale: bool
) -> None:
    assert (look.state, look.running, look.stale) == (state, running, stale)
    assert look_json(look)["state"] == state


def test_a_clock_that_was_set_back_makes_no_negative_age() -> None:
    assert seen(STATUS.pid, STATUS, -100).age_s == 0.0


def test_the_lock_says_whether_it_runs(tmp_path: Path) -> None:
    paths = PopulationPaths(tmp_path)
    write_status(paths.status, replace(STATUS, pid=os.getpid()))
    with PopulationLock(paths.lock, "first"):
        assert look(paths, "first").pid == os.getpid()
        running = look(paths, "first")
        assert running.running and running.status == read_status(paths.status)
        assert any(row.state == "learning" for row in STATUS.members)
    ended = look(paths, "first")
    assert ended.state == "killed" and ended.status is not None
    assert {row.state for row in ended.status.processes} == {"ended"}
    assert {row.state for row in ended.status.members} <= {"stopped", "finished", "failed"}


def test_shares_of_time_and_kinds() -> None:
    assert ProcessRow(
        "w", 1, ("worker", "learner m0 m2"), "learning", stage_s={"learn": 1.0, "infer": 3.0}
    ).shares == {"learn": 0.25, "infer": 0.75}
    assert ProcessRow("w", 1, ("worker", "learner m0 m2"), "starting").shares == {}
    assert ProcessRow("w", 1, ("worker", "learner m0 m2"), "starting").kind == "worker+learner"
    assert ProcessRow("main", 1, (), "running").kind == "main"


POPULATION_KEYS = {
    "population",
    "running",
    "state",
    "pid",
    "stale",
    "age_s",
    "placement",
    "ranked_by",
    "wiring",
    "processes",
    "members",
    "rows",
}
PROCESS_KEYS = {
    "name",
    "pid",
    "roles",
    "state",
    "rate",
    "restarts",
    "beat_age_s",
    "queue",
    "shares",
    "stage_s",
}


def test_json_has_all_that_programs_look_for() -> None:
    table = json.loads(json.dumps(look_json(seen(STATUS.pid, STATUS))))
    assert table.keys() == POPULATION_KEYS
    assert table["processes"][0].keys() == PROCESS_KEYS
    assert table["ranked_by"] == "margin"
    assert table["members"][0] == {
        "name": "m0",
        "frames": 900,
        "lag": 1.5,
        "state": "learning",
        "ranked": 0.625,
        "updates": 34,
        "refused_updates": 0,
        "failure": "",
    }
    assert table["rows"] == {
        "produced": 1000,
        "trained": 900,
        "standing": 60,
        "dropped": {"generation": 40},
    }


def test_reading_needs_no_torch() -> None:
    code = (
        "import sys, arena.cli.status; sys.exit(int(bool({'torch', 'numpy', 'pydantic', "
        "'sqlalchemy'} & sys.modules.keys())))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], cwd=Path(__file__).parents[3], timeout=60
        ).returncode
        == 0
    )


def test_samples_say_what_they_mean() -> None:
    assert isinstance(STATUS.members[0], MemberRow) and isinstance(STATUS.rows, RowCounts)
    assert STATUS.rows.produced == STATUS.rows.trained + STATUS.rows.standing + sum(
        STATUS.rows.dropped.values()
    )
