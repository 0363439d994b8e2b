"""What the service tells about itself: a log that holds no secrets, whatever breaks."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import structlog

from tests.api.service import HERE, Service

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
