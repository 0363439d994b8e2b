"""What the service tells about itself: a log that holds no secrets, whatever breaks."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from api.http.observability import Observed
from arena.data.status import RowCounts
from tests.api.service import HERE, Service
from tests.arena.sample_status import STATUS

ROOT = HERE.parent.parent


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_fault_is_logged_whole_and_without_secrets(tmp_path: Path, form: str) -> None:
    words = [sys.executable, str(HERE / "faulty_service.py"), str(tmp_path), form]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )
    said = json.loads(done.stdout)
    assert [status for status, _ in said["answers"]] == [500] * 6
    assert all(request_id in done.stderr for _, request_id in said["answers"])
    assert done.stderr.count("RuntimeError: the tower fell") == 6
    # Where locals are shown, long values are wrapped in a frame, and shortened in the middle.
    letters = re.sub(r"[^A-Za-z0-9_.-]", "", done.stderr)
    for secret in said["secrets"]:
        assert secret[:12] not in letters and secret[-12:] not in letters


def test_the_log_has_what_was_changed_and_what_was_refused_under_the_ids_of_the_answers(
    service: Service,
) -> None:
    viewer, admin = (
        {"authorization": f"Bearer {service.token(level)}"} for level in ("viewer", "admin")
    )
    with structlog.testing.capture_logs() as lines:
        read = service.client.get("/v1/populations", headers=viewer)
        answers = [
            service.client.get("/v1/populations/unknown", headers=viewer),
            service.client.post("/v1/populations", json={}, headers=viewer),
            service.client.post("/v1/populations", json={}, headers=admin),
            service.client.post("/v1/populations", json={"name": "one", "config": "demo"}),
        ]
    found = {
        line["request_id"]: line
        for line in lines
        if line["event"] == "request" and line["log_level"] == "info"
    }
    assert read.status_code == 200 and read.headers["x-request-id"] not in found
    told = [
        (
            found[answer.headers["x-request-id"]]["status"],
            found[answer.headers["x-request-id"]]["by"],
        )
        for answer in answers
    ]
    assert told == [(404, "viewer"), (403, "viewer"), (422, "admin"), (401, "-")]


def told(service: Service) -> dict[str, float]:
    """Name with labels -> value, as Prometheus collects them."""
    text = service.client.get(
        "/metrics", headers={"authorization": f"Bearer {service.token('viewer')}"}
    ).text
    return {
        name: float(value)
        for name, _, value in (
            line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")
        )
    }


def of_population(found: dict[str, float], name: str) -> dict[str, float]:
    return {
        key.partition("{")[0]: value
        for key, value in found.items()
        if f'population="{name}"' in key
    }


NAMES = {"arena_env_frames", "arena_rows_trained", "arena_checkpoint_age_seconds"}
RUNNING = 'arena_populations{state="running"}'


def test_what_prometheus_collects(service: Service) -> None:
    service.create("one", start=True)
    service.create("never")
    service.wait_checkpoint("one")
    found = service.wait(
        lambda: (
            now
            if (now := told(service)).get(RUNNING) and of_population(now, "one").keys() == NAMES
            else None
        )
    )
    assert found[RUNNING] == found['arena_populations{state="created"}'] == 1
    assert (
        of_population(found, "one")["arena_env_frames"] > 0 and of_population(found, "never") == {}
    )
    assert 0 <= of_population(found, "one")["arena_checkpoint_age_seconds"] < 30
    assert (
        found["arena_disk_free_bytes"] > 0
        and found["arena_sse_clients"] == 0
        and found["arena_db_wal_bytes"] >= 0
    )
    # The question that was answered with `found` is counted by now.
    assert any(
        key.startswith("arena_http_request_seconds_count{") and 'route="/metrics"' in key
        for key in told(service)
    )
    service.done(service.call("POST", "/v1/populations/one/stop"))
    ages = [of_population(told(service), "one")["arena_checkpoint_age_seconds"]]
    service.wait(
        lambda: (
            of_population(told(service), "one")["arena_checkpoint_age_seconds"] > max(ages[0], 1.0)
        )
    )
    service.done(service.call("DELETE", "/v1/populations/one"))
    assert told(service)[RUNNING] == 0
    service.wait(lambda: of_population(told(service), "one") == {})


def test_every_process_and_member_of_a_training_is_measured_until_it_is_gone() -> None:
    observed = Observed()
    observed.training("one", STATUS)
    observed.training("other", STATUS)

    def of_one() -> dict[str, float]:
        samples = [sample for metric in observed.registry.collect() for sample in metric.samples]
        named = [
            (
                sample.name,
                {key: value for key, value in sample.labels.items() if key != "population"},
                sample,
            )
            for sample in samples
        ]
        return {
            f"{name} {label}": sample.value
            for name, label, sample in named
            if sample.labels.get("population") == "one"
        }

    restarts = {
        f"arena_worker_restarts {{'process': '{process.name}'}}": process.restarts
        for process in STATUS.processes
    }
    lags = {
        f"arena_policy_lag_versions {{'member': '{member.name}'}}": member.lag
        for member in STATUS.members
        if member.lag is not None
    }
    updates = {
        f"arena_updates{kind} {{'member': '{member.name}'}}": count
        for member in STATUS.members
        if member.updates
        for kind, count in (("", member.updates), ("_refused", member.refused_updates))
    }
    dropped = {
        f"arena_rows_dropped {{'reason': '{reason}'}}": count
        for reason, count in STATUS.rows.dropped.items()
    }
    sums = {
        "arena_env_frames {}": sum(member.frames for member in STATUS.members),
        "arena_rows_trained {}": STATUS.rows.trained,
    }
    assert restarts and lags and dropped and any(updates.values())
    assert of_one() == {**restarts, **lags, **updates, **dropped, **sums}
    observed.training(
        "one",
        replace(
            STATUS,
            members=STATUS.members[1:],
            processes=STATUS.processes[:1],
            rows=RowCounts(0, 0, 0, {}),
        ),
    )
    assert of_one() == {
        "arena_worker_restarts {'process': 'main'}": 0,
        "arena_env_frames {}": 0,
        "arena_rows_trained {}": 0,
    }
    observed.forget("one")
    assert of_one() == {}
