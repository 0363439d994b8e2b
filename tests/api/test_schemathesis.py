"""Schemathesis against the OpenAPI document, at each level: no server error, no status, header or body that is not documented.

ARENA_EXAMPLES: for each operation in each phase (default 8).
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.live import live
from tests.api.test_read_routes import write_league

EXAMPLES = int(os.environ.get("ARENA_EXAMPLES", "8"))
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance", "response_schema_conformance",
          "negative_data_rejection", "ignored_auth")  # fmt: skip
KNOWN = {
    "path.name": "demo",
    "path.operation_id": 1,
    "path.match_id": 1,
    "path.evaluation_id": 1,
    "path.snapshot_id": "a" * 64,
    "query.population": "demo",
    "query.player": "m0",
}
# Would end the subject of all others; tests/api/test_supervision.py deletes.
LEFT_OUT = ("/v1/events", "deletePopulation")


@pytest.mark.slow
@pytest.mark.timeout(900 + 60 * EXAMPLES)
@pytest.mark.parametrize("level", ["none", "viewer", "admin"])
def test_what_is_documented_is_what_is_answered(tmp_path: Path, level: str) -> None:
    write_league(tmp_path / "data")
    config = tmp_path / "schemathesis.toml"
    config.write_text("[parameters]\n" + "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in KNOWN.items()))
    with live(tmp_path / "data") as (url, service):
        service.call("POST", "/v1/populations/demo/stop")
        service.call("POST", "/v1/evaluations", {"players": ["quick", "random"], "env": "connect_four"})
        (tmp_path / "openapi.json").write_text(json.dumps(service.app.openapi()))
        words = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", str(tmp_path / "openapi.json"), "--url", url]
        words += ["--exclude-path", LEFT_OUT[0], "--exclude-operation-id", LEFT_OUT[1], "--checks", ",".join(CHECKS), "--no-color"]
        words += ["--max-examples", str(EXAMPLES), "--generation-deterministic", "--continue-on-failure"]
        if level != "none":
            words += ["--header", f"Authorization: Bearer {service.token(level)}"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=800 + 60 * EXAMPLES, cwd=tmp_path)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        calls = re.search(r"(\d+) generated", done.stdout)
        assert calls is not None and int(calls[1]) > 500, done.stdout[-2000:]
        print(f"{level}: {calls[1]} calls")
        assert service.client.get("/readyz").status_code == 200
