"""A service inside the test, with trainers that have no engine, and a caller for it."""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI
from starlette.testclient import TestClient

from api.app import create_app
from api.http.settings import Settings
from arena.league.database import League, open_league

HERE = Path(__file__).parent
CONFIG: dict[str, Any] = {
    "env": {"name": "connect_four"},
    "population": {"members": 1},
    "sampling": {"environments": 8},
}
BASE = "http://127.0.0.1"
WAIT_S = 30.0


def settings(data: Path, **changed: Any) -> Settings:
    quick: dict[str, Any] = {
        "trainer": (sys.executable, str(HERE / "trainer_double.py")),
        "player": (sys.executable, str(HERE / "player_double.py")),
        "worker": (sys.executable, str(HERE / "worker_double.py")),
        "sitting": (sys.executable, str(HERE / "sitting_double.py")),
        "request_checker": (sys.executable, str(HERE / "request_checker_double.py")),
        "importer": (sys.executable, str(HERE / "importer_double.py")),
        "checker": (sys.executable, str(HERE / "checker_double.py")),
        "look_every_s": 0.03,
        "backoff_s": 0.05,
        "max_backoff_s": 0.1,
        "soft_disk_bytes": 0,
        "hard_disk_bytes": 0,
    }
    return Settings(data=data, **{**quick, **changed})


class Service:
    """A running service, and a client that calls it as an admin."""

    def __init__(self, app: FastAPI, client: httpx2.Client, data: Path) -> None:
        self.app, self.client, self.data = app, client, data
        self.wait_s = WAIT_S

    @property
    def league(self) -> League:
        found: League = self.app.state.context.league
        return found

    def token(self, level: str) -> str:
        return (self.data / "service" / f"{level}.token").read_text().strip()

    def call(
        self, method: str, path: str, body: Any = None, status: int | None = None, **headers: str
    ) -> Any:
        """The answer's JSON; status: the one expected, else any success."""
        sent = {"authorization": f"Bearer {self.token('admin')}", **headers}
        answer = (
            self.client.request(method, path, json=body, headers=sent)
            if body is not None
            else self.client.request(method, path, headers=sent)
        )
        expected = answer.status_code < 400 if status is None else answer.status_code == status
        assert expected, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def create(self, name: str, plan: dict[str, Any] | None = None, **more: Any) -> Any:
        """plan: what the trainer's double is to do."""
        made = self.call("POST", "/v1/populations", {"name": name, "config": CONFIG, **more})
        if plan is not None:
            self.plan(name, plan)
        return made

    def plan(self, name: str, plan: dict[str, Any]) -> None:
        folder = self.data / "populations" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "double.json").write_text(json.dumps(plan))

    def starts(self, name: str) -> list[str]:
        path = self.data / "populations" / name / "starts"
        return path.read_text().splitlines() if path.exists() else []

    def state(self, name: str) -> str:
        return str(self.call("GET", f"/v1/populations/{name}")["status"]["state"])

    def wait_state(self, name: str, *states: str) -> Any:
        """The population, once it is in one of the states."""
        return self.wait(
            lambda: (
                found
                if (found := self.call("GET", f"/v1/populations/{name}"))["status"]["state"]
                in states
                else None
            )
        )

    def done(self, operation: Any) -> Any:
        """The operation, once it has ended."""
        path = f"/v1/operations/{operation['id']}"
        return self.wait(
            lambda: (
                found
                if (found := self.call("GET", path))["state"] not in ("PENDING", "RUNNING")
                else None
            )
        )

    def wait_starts(self, name: str, count: int) -> None:
        """Until its trainer was started so often."""
        self.wait(lambda: len(self.starts(name)) == count)

    def wait_gone(self, name: str) -> None:
        self.wait(
            lambda: (
                name not in {item["id"] for item in self.call("GET", "/v1/populations")["items"]}
            )
        )

    def wait_checkpoint(self, name: str) -> None:
        """Until there is one more."""
        folder = self.data / "populations" / name / "checkpoints"
        before = len(list(folder.glob("*")))
        self.wait(lambda: len(list(folder.glob("*"))) > before)

    def wait(self, look: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + self.wait_s
        while not (found := look()):
            assert time.monotonic() < deadline, f"not seen within {self.wait_s} s"
            time.sleep(0.02)
        return found


@cache
def _empty_league() -> Path:
    """Migrations take half a second; a copy of what they make takes none."""
    path = Path(tempfile.mkdtemp()) / "league.db"
    open_league(path).close()
    return path


def new_app(data: Path, **changed: Any) -> FastAPI:
    data.mkdir(parents=True, exist_ok=True)
    if not (data / "league.db").exists():
        shutil.copy(_empty_league(), data / "league.db")
    return create_app(settings(data, **changed))


@contextmanager
def serving(data: Path, **changed: Any) -> Iterator[Service]:
    app = new_app(data, **changed)
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        yield Service(app, client, data)
