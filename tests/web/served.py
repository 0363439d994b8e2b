"""`arena serve` as a process of its own, and what a test asks of it behind the browser's back."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from arena.service_state import read_state

WAIT_S = 90.0
SMALL: dict[str, Any] = {
    "stop_at_frames": 8_000,
    "env": {"name": "connect_four"},
    "population": {"members": 2},
    "model": {"hidden": [16]},
    "sampling": {"environments": 16, "rollout_steps": 8},
    "learning": {"batch_steps": 512},
    "pbt": {"period_frames": 2000, "warmup_frames": 2000, "min_games": 10},
    "snapshots": {"every_frames": 2000},
    "evaluation": {"share": 0.2, "final_games": 8},
    "checkpoints": {"every_s": 2.0},
    "runtime": {"placement": "inline", "workers": 1},
}


class Served:
    def __init__(self, data: Path) -> None:
        self.data, self._log, self._port = data, data.parent / "serve.log", 0
        self.start()

    def start(self) -> None:
        """At the port it had before."""
        with self._log.open("ab") as log:
            words = [sys.executable, "-P", "-m", "arena", "serve", "--port", str(self._port), "--data", str(self.data)]
            self._process = subprocess.Popen(words, stdout=log, stderr=log)
        self.wait(self._answers)
        self._port = urlsplit(self.url).port or 0

    def _answers(self) -> bool:
        state = read_state(self.data)
        if state is None or state.pid != self._process.pid:
            return False
        self.url = state.url
        try:
            return httpx2.get(f"{self.url}/readyz").status_code == 200
        except httpx2.HTTPError:
            return False

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(WAIT_S)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._ask(method, path, body)
        assert answer.status_code < 400, answer.text
        return answer.json()

    def text(self, path: str) -> str:
        return str(self._ask("GET", path).text)

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        token = (self.data / "service/admin.token").read_text().strip()
        return httpx2.request(method, self.url + path, json=body, headers={"authorization": f"Bearer {token}"}, timeout=60)

    def code(self) -> str:
        return str(self.call("POST", "/v1/session/codes")["code"])

    def train(self, name: str, **changed: Any) -> None:
        """Make and start one."""
        self.call("POST", "/v1/populations", {"name": name, "config": {**SMALL, **changed}, "start": True})

    def state(self, name: str) -> str:
        return str(self.call("GET", f"/v1/populations/{name}")["status"]["state"])

    def wait(self, true: Callable[[], bool]) -> None:
        until = time.monotonic() + WAIT_S
        while not true():
            assert time.monotonic() < until, f"not within {WAIT_S:.0f} s; the service said:\n{self._log.read_text()[-3000:]}"
            time.sleep(0.1)
