"""`arena serve` as a process of its own, and what is asked of it with the admin's token."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from arena.data.service_state import read_state

SMALL_TRAINING: dict[str, Any] = {
    "stop_at_frames": 50_000_000,
    "env": {"name": "connect_four"},
    "population": {"members": 2},
    "model": {"hidden": [16]},
    "sampling": {"environments": 8, "rollout_steps": 8},
    "learning": {"batch_steps": 256},
    "pbt": {"period_frames": 5000, "warmup_frames": 5000},
    "runtime": {"placement": "inline", "workers": 1},
}
"""The config of a population that has something to store all the time; when it stores what is
for each test to add.
"""
READY_S, STOPPED_S = 60.0, 40.0
"""Generous: the machine may be busy. Figures of an idle one stand in docs/service.md."""


class Served:
    """Started again, it has the port it had before.

    python, env: whose program it is, and its environment; else this one's.  words: more options of
    `arena serve`
    """

    def __init__(
        self,
        data: Path,
        *,
        python: Path | str = sys.executable,
        env: Mapping[str, str] | None = None,
        words: Sequence[str] = (),
    ) -> None:
        self.data, self.log, self._port = data, data.parent / "serve.log", 0
        self._python, self._env, self._words = str(python), env, tuple(words)
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            words = [
                self._python,
                "-P",
                "-m",
                "arena",
                "serve",
                "--port",
                str(self._port),
                "--data",
                str(self.data),
                "--log-format",
                "json",
                *self._words,
            ]
            self.process = subprocess.Popen(words, stdout=log, stderr=log, env=self._env)
        wait(self._answers, READY_S, self.log)
        self._port = urlsplit(self.url).port or 0

    def _answers(self) -> bool:
        state = read_state(self.data)
        if state is None or state.pid != self.process.pid:
            return False
        self.url = state.url
        try:
            return httpx2.get(f"{self.url}/readyz").status_code == 200
        except httpx2.HTTPError:
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOPPED_S)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(STOPPED_S)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.ask(method, path, body)
        assert answer.status_code < 400, answer.text
        return answer.json()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        token = (self.data / "service/admin.token").read_text().strip()
        return httpx2.request(
            method,
            self.url + path,
            json=body,
            headers={"authorization": f"Bearer {token}"},
            timeout=60,
        )

    def state(self, name: str) -> str:
        """Of a population."""
        return str(self.call("GET", f"/v1/populations/{name}")["status"]["state"])


def wait(look: Callable[[], Any], timeout_s: float, log: Path) -> Any:
    """What `look` found. Fails with the end of the service's log when the time is over."""
    deadline = time.monotonic() + timeout_s
    while not (found := look()):
        assert time.monotonic() < deadline, (
            f"not within {timeout_s:.0f} s; the service said:\n{log.read_text()[-3000:]}"
        )
        time.sleep(0.1)
    return found
