"""What is not well is said in words; the machine and the processes are told as they are."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from arena.assessment.training_warnings import warnings
from arena.data.lock import PopulationLock, holder
from arena.data.paths import population_paths
from arena.data.status import MemberRow, Moment, ProcessRow, RowCounts, write_status
from arena.league.supervised import Supervised
from tests.api.service import Service, serving
from tests.arena.sample_status import STATUS

ROW = Supervised("first", 0.0, "running", 0.0, (), 1, "running", None, "", 0.0, 0, None)
WELL = replace(
    STATUS,
    processes=tuple(replace(process, restarts=0) for process in STATUS.processes),
    members=(MemberRow("m0", 900, 1.5, "learning"),),
    rows=RowCounts(1000, 960, 20, {"generation": 20}),
)


@pytest.mark.parametrize(
    ("row", "changed", "expected"),
    [
        ({}, {}, []),
        ({"restarts": 2}, {}, ["its trainer ended by itself before a new checkpoint: 2 times"]),
        ({"restarts": 6, "state": "failed"}, {}, []),
        (
            {},
            {"trouble": "an edit is not saved yet: disk full"},
            ["an edit is not saved yet: disk full"],
        ),
        ({}, {"written_at": 1030.0}, ["its trainer has reported nothing for 40 s"]),
        ({"state": "starting", "since": 1000.0}, {}, []),
        (
            {"state": "starting", "since": 900.0},
            {},
            ["its trainer has been starting for 170 s and does not train yet; its log may say why"],
        ),
        (
            {"state": "recovering", "since": 900.0},
            {},
            ["its trainer has been starting for 170 s and does not train yet; its log may say why"],
        ),
        ({"state": "starting", "since": 900.0, "reason": "held"}, {}, []),
        (
            {},
            {"members": (MemberRow("m0", 900, 1.5, "learning", None, 34, 30),)},
            [
                "m0: 30 of 64 updates were refused, because a loss or a gradient was not finite",
            ],
        ),
        (
            {},
            {"members": (MemberRow("m0", 900, 1.5, "failed", failure="no gradient"),)},
            ["m0 failed, and learns no more: no gradient"],
        ),
        ({}, {"members": STATUS.members}, ["m1 failed, and learns no more"]),
        (
            {"state": "stopped"},
            {"members": STATUS.members, "written_at": 0.0},
            ["m1 failed, and learns no more"],
        ),
        (
            {},
            {"processes": (ProcessRow("worker-0", 1, ("worker",), "down", restarts=1),)},
            ["worker-0 is down", "worker-0 was started again once"],
        ),
        (
            {},
            {"rows": RowCounts(1000, 800, 0, {"generation": 150, "lag": 50})},
            ["20 % of the rows were dropped: 150 generation, 50 lag"],
        ),
        ({}, {"rows": RowCounts(0, 0, 0, {})}, []),
    ],
)
def test_what_is_not_well(
    row: dict[str, Any], changed: dict[str, Any], expected: list[str]
) -> None:
    assert (
        warnings(replace(ROW, **row), replace(WELL, **changed), Moment(1070.0, 1070.0)) == expected
    )


def test_of_a_population_that_never_trained_nothing_is_known() -> None:
    assert warnings(ROW, None, Moment(0.0, 0.0)) == []
    assert (
        "starting for 200 s"
        in warnings(replace(ROW, state="starting"), None, Moment(200.0, 200.0))[0]
    )


def test_a_trainer_that_never_gets_ready_or_falls_silent_is_named(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("LATE_START_S", "STALE_AFTER_S"):
        monkeypatch.setattr(f"arena.assessment.training_warnings.{limit}", 0.5)
    service.create("slow", {"start_s": 60}, start=True)
    service.create("silent", start=True)
    service.wait_state("silent", "running")
    pid = holder(service.data / "populations/silent/lock")
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        for name, said in (
            ("slow", "has been starting for"),
            ("silent", "has reported nothing for"),
        ):
            found = service.wait(
                lambda name=name: service.call("GET", f"/v1/populations/{name}")["status"][
                    "warnings"
                ]
            )
            assert said in found[0], (name, found)
    finally:
        os.kill(pid, signal.SIGCONT)
        service.done(service.call("POST", "/v1/populations/slow/stop?grace_s=0.1"))


@pytest.fixture
def trained(service: Service) -> Iterator[Service]:
    """With a population that this process trains, as far as anybody can see."""
    service.create("first")
    paths = population_paths(service.data, "first")
    (paths.checkpoints / "00000007").mkdir(parents=True)
    write_status(paths.status, replace(STATUS, pid=os.getpid()))
    with PopulationLock(paths.lock, "first"):
        yield service


def test_a_training_from_outside(trained: Service) -> None:
    found = trained.call("GET", "/v1/populations/first/health")
    assert (found["running"], found["placement"], found["rows"]["dropped"]) == (
        True,
        "central",
        {"generation": 40},
    )
    assert 0 <= found["checkpoint_age_s"] < 60 < found["age_s"]
    assert (found["updates"], found["refused_updates"]) == (34, 0)
    member = trained.call("GET", "/v1/populations/first")["status"]["members"][0]
    assert (member["updates"], member["refused_updates"]) == (34, 0)
    worker = next(process for process in found["processes"] if process["name"] == "worker-0")
    assert (worker["shares"], worker["rate"], worker["restarts"]) == (
        {"simulate": 0.75, "wait": 0.25},
        512.0,
        1,
    )
    listed = trained.call("GET", "/v1/populations")["items"][0]
    assert listed["status"]["warnings"] == found["warnings"] == ["m1 failed, and learns no more"]
    trained.call("GET", "/v1/populations/unknown/health", status=404)


def test_a_damaged_status_is_no_status(trained: Service) -> None:
    population_paths(trained.data, "first").status.write_text(
        json.dumps({**asdict(STATUS), "rows": 3})
    )
    found = trained.call("GET", "/v1/populations/first/health")
    assert (found["running"], found["rows"], found["processes"], found["age_s"]) == (
        False,
        None,
        [],
        None,
    )


def test_the_system(trained: Service) -> None:
    found = trained.call("GET", "/v1/system")
    assert (found["pid"], found["problems"], found["populations"]) == (
        os.getpid(),
        [],
        {"created": 1},
    )
    assert [process["name"] for process in found["processes"]] == [
        process.name for process in STATUS.processes
    ]
    assert found["versions"]["pbt-arena"] and found["memory_bytes"] > 1e6
    assert (
        0 < found["disk"]["free_bytes"] < found["disk"]["total_bytes"]
        and found["disk"]["league_bytes"] > 0
    )
    assert (
        0 < found["machine"]["available_bytes"] <= found["machine"]["memory_bytes"]
        and found["machine"]["cores"] >= 1
    )


def test_the_service_names_what_it_lacks(tmp_path: Path) -> None:
    with serving(tmp_path / "data", hard_disk_bytes=2**62) as short:
        found = short.wait(
            lambda: told if (told := short.call("GET", "/v1/system"))["problems"] else None
        )
    assert (found["problems"], found["disk"]["state"]) == (["too little free space"], "hard")
