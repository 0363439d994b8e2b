"""Schemathesis against the OpenAPI document, at each level of rights.

There is no server error, and no status, header or body that is not documented.

ARENA_EXAMPLES: for each operation in each phase (default 1). An operation that uses up its subject
(a deletion, a one-time code) is also called with fresh ones, so that each operation succeeds often:
SUCCESSES times for 30 examples or more.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arena.data.paths import population_paths
from arena.league.schema import game_key
from pbt.film.folder import FilmName
from tests.api.example_upload import upload
from tests.api.live import live
from tests.api.routes.test_read_routes import write_league
from tests.api.service import CONFIG, HERE, Service
from tests.arena.league.samples import game

EXAMPLES = int(os.environ.get("ARENA_EXAMPLES", "1"))
LEVELS = ("none", "viewer", "admin")
FEWEST_CALLS, FEWEST_OF_FEW, FEWEST_OF_A_CAMPAIGN = 500, 50, 5000
"""As an admin, at a level without the phase of coverage; of all, with 30 examples or more."""
CAMPAIGN = 30
SUCCESSES = 50 if EXAMPLES >= CAMPAIGN else EXAMPLES
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "ignored_auth",
)
KNOWN = {
    "path.name": "demo",
    "path.member": "m1",
    "path.operation_id": 1,
    "path.match_id": 1,
    "path.evaluation_id": 1,
    "path.number": 1,
    "path.game_id": str(game_key(1, 0)),
    "path.snapshot_id": "a" * 64,
    "query.population": "demo",
    "query.player": "m0",
}
# Their bodies hold a whole configuration: to break each of its rules once takes minutes, and only a
# campaign does.
LARGE = ("createJob", "createPopulation")
# Would end the subject of all others, or never ends; both are called below.
LEFT_OUT = ("/v1/events", "deletePopulation")
DOUBLES = {
    "sitting": (sys.executable, str(HERE / "sitting_double.py")),
    "replayer": (sys.executable, str(HERE / "replayer_double.py")),
    "webhook_hosts": ("hooks.example.org",),
}

Operation = tuple[str, str]
"""Method and path, as documented."""


def prepare(service: Service) -> Mapping[str, Any]:
    """Something to find under every id."""
    record = game(0)
    films = population_paths(service.data, "demo").films
    films.mkdir(exist_ok=True)
    (films / FilmName(record.environment, record.count, record.trajectory_hash).file).write_bytes(
        b"a film"
    )
    upload(service, "demo")
    service.done(service.call("POST", "/v1/populations/demo/stop"))
    service.call("POST", "/v1/evaluations", {"players": ["quick", "random"], "env": "connect_four"})
    job = service.call("POST", "/v1/jobs", {"kind": "verification", "name": "match:1"})
    play = service.call(
        "POST", "/v1/plays", {"opponent": "random", "name": "Ada", "env": "connect_four"}
    )
    return {**KNOWN, "path.play_id": play["id"], "path.job_id": int(job["id"])}


def covers(level: str) -> bool:
    """Whether every rule of the document is broken once at this level, which takes a minute."""
    return level == "admin" or EXAMPLES >= CAMPAIGN


def without_coverage(operation: str) -> str:
    """The lines of its configuration by which Schemathesis does not break each rule of one."""
    return (
        f"[[operations]]\ninclude-operation-id = {json.dumps(operation)}\n"
        "phases.coverage.enabled = false\n"
    )


def command(config: Path, document: Path, url: str, level: str, token: str | None) -> list[str]:
    """The call of Schemathesis for one level of rights. token: None sends none."""
    words = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)]
    words += ["run", str(document), "--url", url, "--checks", ",".join(CHECKS), "--no-color"]
    words += ["--exclude-path", LEFT_OUT[0], "--exclude-operation-id", LEFT_OUT[1]]
    words += ["--max-examples", str(EXAMPLES), "--generation-deterministic"]
    words += ["--continue-on-failure"]
    if not covers(level):
        words += ["--phases", "examples,fuzzing"]
    return words if token is None else [*words, "--header", f"Authorization: Bearer {token}"]


def explore(folder: Path, level: str, url: str, service: Service, known: Mapping[str, Any]) -> int:
    """Calls that were made; fails with what Schemathesis found."""
    config, document = folder / "schemathesis.toml", folder / "openapi.json"
    config.write_text(
        "[parameters]\n"
        + "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in known.items())
        + "".join(without_coverage(one) for one in LARGE if EXAMPLES < CAMPAIGN)
    )
    document.write_text(json.dumps(service.app.openapi()))
    token = None if level == "none" else service.token(level)
    done = subprocess.run(
        command(config, document, url, level, token),
        capture_output=True,
        text=True,
        timeout=800 + 60 * EXAMPLES,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    calls = re.search(r"(\d+) generated", done.stdout)
    assert calls is not None, done.stdout[-2000:]
    return int(calls[1])


def succeeded(service: Service) -> Counter[Operation]:
    """So often was each operation answered with a success, by the service's own count."""
    found = Counter[Operation]()
    for metric in service.app.state.context.observed.requests.collect():
        for sample in metric.samples:
            if sample.name.endswith("_count") and sample.labels["status"].startswith("2"):
                found[sample.labels["method"], sample.labels["route"]] += int(sample.value)
    return found


def documented(service: Service) -> set[Operation]:
    return {
        (method.upper(), path)
        for path, by in service.app.openapi()["paths"].items()
        for method in by
    }


class Fresh:
    """One success more of what needs a subject of its own. number: never given twice."""

    def __init__(self, service: Service, number: int) -> None:
        self._service, self._call, self._name = service, service.call, f"fresh-{number}"

    def of(self, operation: Operation) -> Callable[[], object] | None:
        """What makes it succeed; None where a plain call does."""
        populations, name = "/v1/populations", "/v1/populations/{name}"
        return {
            ("POST", populations): self._create,
            ("DELETE", name): self._delete,
            ("PATCH", name): lambda: self._call(
                "PATCH", f"{populations}/demo", {"set": {"evaluation.share": 0.5}}
            ),
            ("POST", f"{name}/start"): self._pause,
            ("POST", f"{name}/pause"): self._pause,
            ("POST", f"{name}/resume"): self._pause,
            ("POST", f"{name}/members"): self._exchange,
            ("DELETE", f"{name}/members/{{member}}"): self._exchange,
            ("GET", f"{name}/webhook"): self._hook,
            ("PUT", f"{name}/webhook"): self._hook,
            ("DELETE", f"{name}/webhook"): self._hook,
            ("POST", "/v1/imports"): self._import,
            ("GET", "/v1/imports/{name}"): self._import,
            ("DELETE", "/v1/imports/{name}"): self._import,
            ("POST", "/v1/session"): self._log_in,
            ("POST", "/v1/session/codes"): self._log_in,
            ("DELETE", "/v1/session"): lambda: self._call("DELETE", "/v1/session"),
            ("GET", "/v1/events"): self._hear,
            ("POST", "/v1/evaluations"): self._cancel,
            ("POST", "/v1/evaluations/{evaluation_id}/cancel"): self._cancel,
            ("POST", "/v1/jobs"): self._work,
            ("POST", "/v1/jobs/{job_id}/cancel"): self._work,
            ("POST", "/v1/plays"): self._play,
            ("POST", "/v1/plays/{play_id}/moves"): self._play,
            ("DELETE", "/v1/plays/{play_id}"): self._play,
        }.get(operation)

    def _create(self) -> None:
        self._call("POST", "/v1/populations", {"name": self._name, "config": CONFIG})

    def _delete(self) -> None:
        self._create()
        self._service.done(self._call("POST", f"/v1/populations/{self._name}/stop"))
        self._call("DELETE", f"/v1/populations/{self._name}")

    def _log_in(self) -> None:
        answer = self._service.client.post(
            "/v1/session", json={"code": self._call("POST", "/v1/session/codes")["code"]}
        )
        self._service.client.cookies.clear()
        assert answer.status_code == 204

    def _hear(self) -> None:
        headers = {"authorization": f"Bearer {self._service.token('viewer')}"}
        with self._service.client.stream("GET", "/v1/events?after=0", headers=headers) as stream:
            assert stream.status_code == 200

    def _pause(self) -> None:
        for word in ("start", "pause", "resume", "stop"):
            self._call("POST", f"/v1/populations/demo/{word}")

    def _cancel(self) -> None:
        made = self._call(
            "POST", "/v1/evaluations", {"players": ["endless", "random"], "env": "connect_four"}
        )
        self._call("POST", f"/v1/evaluations/{made['id']}/cancel")

    def _work(self) -> None:
        made = self._call("POST", "/v1/jobs", {"kind": "verification", "name": "imported"})
        self._call("POST", f"/v1/jobs/{made['id']}/cancel")

    def _play(self) -> None:
        play = self._call(
            "POST", "/v1/plays", {"opponent": "random", "name": "Ada", "env": "connect_four"}
        )
        path = f"/v1/plays/{play['id']}"
        self._service.wait(lambda: self._call("GET", path)["state"] == "turn")
        self._call("POST", f"{path}/moves", {"action": 0, "at": 0})
        self._call("DELETE", path)
        self._service.wait(lambda: self._call("GET", path)["state"] in ("over", "dropped"))

    def _hook(self) -> None:
        path = "/v1/populations/demo/webhook"
        self._call("PUT", path, {"url": "https://hooks.example.org/arena"})
        self._call("GET", path)
        self._call("DELETE", path)

    def _import(self) -> None:
        upload(self._service, self._name)
        self._call("GET", f"/v1/imports/{self._name}")
        self._call("DELETE", f"/v1/imports/{self._name}")

    def _exchange(self) -> None:
        joined = self._call("POST", "/v1/populations/demo/members", {})
        self._call("DELETE", f"/v1/populations/demo/members/{joined['member']}")


def top_up(
    service: Service, known: Mapping[str, Any], earlier: Counter[Operation]
) -> Counter[Operation]:
    """Until each operation has succeeded often enough: those without parameters have few cases.
    earlier: successes at the other levels.
    """
    # Boards that Schemathesis left open would keep others from being set up.
    service.app.state.context.plays.close()
    found, number = earlier + succeeded(service), 0
    for method, path in sorted(documented(service)):
        for _ in range(SUCCESSES - found[method, path]):
            number += 1
            succeed = Fresh(service, number).of((method, path)) or partial(
                service.call, method, filled(path, known)
            )
            succeed()
        found = earlier + succeeded(service)
    return found


def filled(path: str, known: Mapping[str, Any]) -> str:
    """With an id of something, and the parameters that must be there."""
    for place, value in known.items():
        kind, _, name = place.partition(".")
        path = path.replace("{" + name + "}", str(value)) if kind == "path" else path
    needed = {
        "/lineage": "player=m0",
        "/v1/ratings": "population=demo",
        "/v1/win-matrix": "population=demo",
        "/v1/cycles": "population=demo",
        "/win-rates/changes": "first=0",
    }
    query = next((text for end, text in needed.items() if path.endswith(end)), "")
    return f"{path}?{query}" if query else path


@pytest.mark.slow
@pytest.mark.timeout(1200 + 180 * EXAMPLES)
def test_what_is_documented_is_what_is_answered(tmp_path: Path) -> None:
    found, calls = Counter[Operation](), {}
    for level in LEVELS:
        folder = tmp_path / level
        write_league(folder / "data")
        with live(folder / "data", **DOUBLES) as (url, service):
            known = prepare(service)
            calls[level] = explore(folder, level, url, service, known)
            assert calls[level] > (FEWEST_CALLS if covers(level) else FEWEST_OF_FEW)
            assert service.client.get("/readyz").status_code == 200
            found = (
                top_up(service, known, found) if level == "admin" else found + succeeded(service)
            )
            often = {operation: found[operation] for operation in documented(service)}
    told = ", ".join(f"{level} {count}" for level, count in calls.items())
    print(
        f"{sum(calls.values())} calls of Schemathesis ({told}); each operation succeeded "
        f"{min(often.values())} times or more"
    )
    assert EXAMPLES < CAMPAIGN or sum(calls.values()) >= FEWEST_OF_A_CAMPAIGN
    assert not {operation: count for operation, count in often.items() if count < SUCCESSES}
