"""Trainings as processes: what is wanted comes about, whatever happens to the trainers. The
double keeps the real trainer's contract.

Over 350 lines: all cases are of one subject, and share one set of helpers around the double.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from api.reconcile import reconciler, strays
from api.reconcile.trainer_process import identity
from arena.data.lock import holder
from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.supervised import ObservedState, get_supervised, record
from tests.api.service import HERE, Service, serving


def lock_holder(service: Service, name: str) -> int | None:
    return holder(service.data / "populations" / name / "lock")


def test_start_stop_start_again(service: Service) -> None:
    service.create("one")
    assert service.state("one") == "created"
    started = service.call("POST", "/v1/populations/one/start")
    assert started["state"] == "PENDING"
    assert service.done(started)["state"] == "SUCCEEDED"
    assert service.state("one") == "running"
    assert lock_holder(service, "one") is not None
    stopped = service.done(service.call("POST", "/v1/populations/one/stop"))
    assert (stopped["state"], service.state("one"), lock_holder(service, "one")) == (
        "SUCCEEDED",
        "stopped",
        None,
    )
    assert service.done(service.call("POST", "/v1/populations/one/start"))["state"] == "SUCCEEDED"
    assert len(service.starts("one")) == 2


def test_asking_again_is_the_same_operation_and_one_trainer(service: Service) -> None:
    service.create("one", {"start_s": 0.3})
    first = service.call("POST", "/v1/populations/one/start")
    again = service.call("POST", "/v1/populations/one/start")
    assert first["id"] == again["id"]
    service.done(first)
    assert service.call("POST", "/v1/populations/one/start")["id"] == first["id"]
    assert len(service.starts("one")) == 1


def test_a_stop_during_the_start_wins(service: Service) -> None:
    service.create("one", {"start_s": 0.5})
    started = service.call("POST", "/v1/populations/one/start")
    service.wait(lambda: service.starts("one"))
    stopped = service.call("POST", "/v1/populations/one/stop")
    assert service.done(started)["state"] == "STOPPED"
    assert service.done(stopped)["state"] == "SUCCEEDED"
    assert lock_holder(service, "one") is None


def test_pause_and_resume(service: Service) -> None:
    service.create("one")
    service.call("POST", "/v1/populations/one/pause", status=409)
    service.done(service.call("POST", "/v1/populations/one/start"))
    assert service.done(service.call("POST", "/v1/populations/one/pause"))["state"] == "SUCCEEDED"
    assert (service.state("one"), lock_holder(service, "one")) == ("paused", None)
    assert service.done(service.call("POST", "/v1/populations/one/resume"))["state"] == "SUCCEEDED"
    assert service.state("one") == "running"
    service.done(service.call("POST", "/v1/populations/one/stop"))
    service.call("POST", "/v1/populations/one/resume", status=409)


def test_a_killed_trainer_comes_back(service: Service) -> None:
    service.create("one", start=True)
    service.wait_state("one", "running")
    for number in range(2, 5):
        service.wait_checkpoint("one")
        pid = lock_holder(service, "one")
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        service.wait_starts("one", number)
        service.wait_state("one", "running")
    # Checkpoints came in between, so the ends do not add up.
    assert service.call("GET", "/v1/populations/one")["status"]["restarts"] <= 1


def test_one_that_keeps_breaking_fails_with_its_reason_and_last_words(tmp_path: Path) -> None:
    with serving(tmp_path, max_restarts=2) as service:
        service.create("one", {"exit": 1, "say": "error: the tower fell"})
        operation = service.done(service.call("POST", "/v1/populations/one/start"))
        assert (operation["state"], "the tower fell" in operation["problem"]) == ("FAILED", True)
        seen = service.call("GET", "/v1/populations/one")["status"]
        assert (seen["state"], seen["reason"], seen["last_log_lines"][-1]) == (
            "failed",
            "crashed",
            "error: the tower fell",
        )
        assert len(service.starts("one")) == 3
        # A new request is a new beginning.
        service.plan("one", {})
        assert (
            service.done(service.call("POST", "/v1/populations/one/start"))["state"] == "SUCCEEDED"
        )


@pytest.mark.slow
def test_a_config_that_cannot_be_trained_is_not_tried_again(service: Service) -> None:
    service.create("one", {"exit": 2, "say": "error: config has 1 problem"})
    assert service.done(service.call("POST", "/v1/populations/one/start"))["state"] == "FAILED"
    assert service.call("GET", "/v1/populations/one")["status"]["reason"] == "config"
    assert len(service.starts("one")) == 1


def test_one_that_is_done_is_finished(service: Service) -> None:
    service.create("one", {"finish_s": 0.1}, start=True)
    assert (
        service.wait_state("one", "finished")["status"]["message"]
        == "every member reached its stop"
    )
    assert len(service.starts("one")) == 1
    again = service.call("POST", "/v1/populations/one/start")
    assert service.done(again)["state"] == "SUCCEEDED"


def test_one_with_a_wiring_fault_is_finished_and_says_so(service: Service) -> None:
    """Its exit code is 1, and it is not started again for that."""
    service.create("one", {"finish_s": 0.1, "wiring": "two weights"}, start=True)
    message = service.wait_state("one", "finished")["status"]["message"]
    assert message == "every member reached its stop; WIRING FAULT: two weights"
    assert len(service.starts("one")) == 1


def test_one_with_a_wiring_fault_stops_as_any_other(service: Service) -> None:
    service.create("one", {"wiring": "two weights"}, start=True)
    service.wait_state("one", "running")
    assert service.done(service.call("POST", "/v1/populations/one/stop"))["state"] == "SUCCEEDED"
    assert service.wait_state("one", "stopped")


@pytest.mark.slow
def test_a_trainer_that_does_not_hear_is_killed(service: Service) -> None:
    service.create("one", {"deaf": True}, start=True)
    service.wait_state("one", "running")
    assert (
        service.done(service.call("POST", "/v1/populations/one/stop?grace_s=0.3"))["state"]
        == "SUCCEEDED"
    )
    assert lock_holder(service, "one") is None


@pytest.mark.slow
def test_who_asks_again_in_more_of_a_hurry_need_not_wait(service: Service) -> None:
    service.create("one", {"deaf": True}, start=True)
    service.wait_state("one", "running")
    asked = [
        service.call("POST", f"/v1/populations/one/stop?grace_s={grace_s}")
        for grace_s in (100, 0.3, 50)
    ]
    assert len({operation["id"] for operation in asked}) == 1
    assert service.done(asked[0])["state"] == "SUCCEEDED"
    assert lock_holder(service, "one") is None


def test_more_than_may_run_wait_for_their_turn(tmp_path: Path) -> None:
    with serving(tmp_path, max_running=1) as service:
        service.create("one", start=True)
        service.wait_state("one", "running")
        service.create("two", start=True)
        assert service.wait_state("two", "queued")["status"]["reason"] == "queue"
        service.call("POST", "/v1/populations/one/stop")
        service.wait_state("two", "running")
        assert service.starts("two")


def test_edits_of_a_running_population_come_with_a_new_start_of_its_trainer(
    service: Service,
) -> None:
    service.create("one", start=True)
    service.wait_state("one", "running")
    edited = service.call(
        "PATCH", "/v1/populations/one", {"set": {"evaluation.share": 0.25, "learning.gamma": 0.9}}
    )
    assert edited["spec"]["pending_edits"] == ["evaluation.share=0.25", "learning.gamma=0.9"]
    service.wait_starts("one", 2)
    assert service.starts("one")[1].endswith("--set evaluation.share=0.25 --set learning.gamma=0.9")
    service.wait(lambda: service.call("GET", "/v1/populations/one")["spec"]["pending_edits"] == [])


def test_what_a_trainer_takes_while_it_runs_needs_no_new_start(service: Service) -> None:
    service.create("one", start=True)
    service.wait_state("one", "running")
    for edits in (
        {"evaluation.share": 0.25, "pbt.period_frames": 1000},
        {"stop_at_frames": 5_000_000, "snapshots.every_frames": 7},
    ):
        service.call("PATCH", "/v1/populations/one", {"set": edits})
        service.wait(
            lambda: service.call("GET", "/v1/populations/one")["spec"]["pending_edits"] == []
        )
    taken = (service.data / "populations/one/taken").read_text().splitlines()
    assert taken == [
        "evaluation.share=0.25 pbt.period_frames=1000",
        "snapshots.every_frames=7 stop_at_frames=5000000",
    ]
    assert (len(service.starts("one")), service.state("one")) == (1, "running")


@pytest.mark.slow
def test_edits_that_are_not_taken_in_time_come_with_a_new_start(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.reconcile.trainings.LIVE_TIMEOUT_S", 0.3)
    service.create("one", {"deaf_to_edits": True}, start=True)
    service.wait_state("one", "running")
    service.call("PATCH", "/v1/populations/one", {"set": {"evaluation.share": 0.25}})
    service.wait_starts("one", 2)
    assert service.starts("one")[1].endswith("--set evaluation.share=0.25")


@pytest.mark.slow
def test_an_edit_while_it_finishes_is_not_lost(service: Service) -> None:
    """It was acknowledged, and its trainer ended without having seen it."""
    service.create("one", {"finish_s": 0.6, "deaf_to_edits": True}, start=True)
    service.wait_state("one", "running")
    service.call("PATCH", "/v1/populations/one", {"set": {"stop_at_frames": 5_000_000}})
    service.wait_starts("one", 2)
    assert service.starts("one")[1].endswith("--set stop_at_frames=5000000")


def test_deleting_stops_first_and_leaves_nothing(service: Service) -> None:
    service.create("one", start=True)
    service.wait_state("one", "running")
    operation = service.call("DELETE", "/v1/populations/one")
    assert service.done(operation)["state"] == "SUCCEEDED"
    service.call("GET", "/v1/populations/one", status=404)
    assert list((service.data / "populations").iterdir()) == []
    service.create("one")


@pytest.mark.slow
def test_a_training_by_hand_is_seen_stopped_and_then_let_be(service: Service) -> None:
    service.create("one", start=True)
    service.wait_state("one", "running")
    service.done(service.call("POST", "/v1/populations/one/stop"))
    words = [
        sys.executable,
        str(HERE / "trainer_double.py"),
        "train",
        "--resume",
        "one",
        "--data",
        str(service.data),
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as by_hand:
        service.wait(lambda: lock_holder(service, "one") == by_hand.pid)
        assert service.wait_state("one", "running")["status"]["reason"] == "held"
        started = service.call("POST", "/v1/populations/one/start")
        assert service.wait_state("one", "starting")["status"]["reason"] == "held"
        assert (
            service.done(service.call("POST", "/v1/populations/one/stop"))["state"] == "SUCCEEDED"
        )
        assert by_hand.wait(10) == 0
    assert service.call("GET", f"/v1/operations/{started['id']}")["state"] == "STOPPED"


def test_what_was_to_run_runs_again_after_a_restart_of_the_service(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        for name in ("one", "two", "three"):
            service.create(name, start=name != "three")
        service.wait_state("one", "running")
        service.wait_state("two", "running")
        service.done(service.call("POST", "/v1/populations/two/pause"))
        pid = lock_holder(service, "one")
    assert pid is not None and identity(pid) is None
    with serving(tmp_path) as service:
        service.wait_state("one", "running")
        service.wait_starts("one", 2)
        assert [service.state(name) for name in ("two", "three")] == ["paused", "created"]
        assert [len(service.starts(name)) for name in ("one", "two", "three")] == [2, 1, 0]


WRITER = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("writes", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_one_left_behind_in_the_middle_of_a_commit_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be written while it lives: the writers wait, and the time to end it does not."""
    monkeypatch.setattr(strays, "STRAY_TIMEOUT_S", 5.0)
    with serving(tmp_path) as service:
        service.create("one", start=True)
        service.wait_state("one", "running")
    league = open_league(league_path(tmp_path))
    command = [sys.executable, "-P", "-c", WRITER, str(league.path)]
    logs = population_paths(tmp_path, "one").logs
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, start_new_session=True, cwd=logs
    ) as left:
        try:
            row = get_supervised(league, "one")
            assert record(
                league,
                "one",
                ObservedState("running", None, "", 0, identity(left.pid)),
                row.revision,
            )
            assert left.stdout is not None and left.stdout.readline() == b"writes\n"
            with serving(tmp_path) as service:
                assert left.wait(10) == -signal.SIGKILL
                service.wait_starts("one", 2)
                service.wait_state("one", "running")
        finally:
            left.kill()
            league.close()


def test_a_copy_of_a_data_directory_leaves_the_originals_processes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its league names them, and they live."""
    monkeypatch.setattr(strays, "STRAY_TIMEOUT_S", 0.0)
    original, copy = tmp_path / "original", tmp_path / "copy"
    with serving(original) as service:
        service.create("one", start=True)
        service.wait_state("one", "running")
        shutil.copytree(original, copy)
        with serving(copy) as beside:
            beside.wait_state("one", "running")
            beside.wait_starts("one", 2)  # one of them is in the copied log
        assert service.state("one") == "running" and len(service.starts("one")) == 1


def test_a_trainer_that_does_not_stop_is_killed_and_reaped_when_the_service_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconciler, "END_TIMEOUT_S", 0.2)
    with serving(tmp_path) as service:
        service.create("one", start=True)
        service.wait_state("one", "running")
        pid = lock_holder(service, "one")
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.slow
def test_a_full_disk_stops_trainings_and_refuses_changes_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path, hard_disk_bytes=1 << 30, soft_disk_bytes=2 << 30) as service:
        for name in ("two", "three"):
            service.create(name)
        service.create("one", start=True)
        service.wait_state("one", "running")
        match = service.call(
            "POST", "/v1/evaluations", {"players": ["random", "random"], "env": "connect_four"}, 202
        )
        free = 1 << 20
        usage = shutil.disk_usage
        monkeypatch.setattr("shutil.disk_usage", lambda path: usage(path)._replace(free=free))
        assert service.wait_state("one", "queued")["status"]["reason"] == "disk"
        service.call("GET", "/readyz", status=503)
        service.call("POST", "/v1/populations/one/start", status=507)
        service.call("PATCH", "/v1/populations/one", {"set": {"evaluation.share": 0.5}}, 507)
        service.call(
            "POST", "/v1/evaluations", {"players": ["random", "random"], "env": "connect_four"}, 507
        )
        # What gives the machine back, or makes room, is done.
        for name, how in (("two", "DELETE"), ("three", "POST")):
            path = f"/v1/populations/{name}"
            assert (
                service.done(
                    service.call(how, path if how == "DELETE" else f"{path}/stop", None, 202)
                )["state"]
                == "SUCCEEDED"
            )
        service.call("POST", "/v1/populations/three/pause", None, 409)
        service.call("POST", "/v1/populations/one/pause", None, 202)
        service.call("POST", f"/v1/evaluations/{match['id']}/cancel", None, 202)
        service.call("POST", "/v1/populations/one/resume", None, 507)
        free = 1 << 40
        service.wait(lambda: service.client.get("/readyz").status_code == 200)
        service.call("POST", "/v1/populations/one/resume", None, 202)
        service.wait_state("one", "running")
        service.wait(lambda: service.client.get("/readyz").status_code == 200)


@pytest.mark.slow
def test_somebody_elses_stop_is_heeded(service: Service) -> None:
    service.create("one", {"start_s": 0.3})
    started = service.call("POST", "/v1/populations/one/start")
    service.wait(lambda: lock_holder(service, "one"))
    pid = lock_holder(service, "one")
    assert pid is not None
    service.wait(lambda: service.starts("one"))
    os.kill(pid, signal.SIGTERM)
    assert service.wait_state("one", "stopped")["spec"]["desired"] == "stopped"
    assert service.done(started)["state"] in ("SUCCEEDED", "STOPPED")
    assert len(service.starts("one")) == 1


@pytest.mark.slow
def test_one_that_cannot_be_started_fails_and_the_others_go_on(tmp_path: Path) -> None:
    with serving(tmp_path, max_restarts=1) as service:
        service.create("one")
        (tmp_path / "populations" / "one").mkdir(parents=True)
        (tmp_path / "populations" / "one" / "logs").write_text("a file where a folder should be")
        service.create("two", start=True)
        failed = service.done(service.call("POST", "/v1/populations/one/start"))
        assert (failed["state"], "could not be started" in failed["problem"]) == ("FAILED", True)
        service.wait_state("two", "running")
