"""A running service, for programs that measure it or take its pictures."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil

from arena.data.service_state import ServiceState, read_state

NAME = "watched"
START_S = 120.0


class Service:
    """A running service, with a population that trains.

    state    its address and process
    data     its data directory
    headers  that every request needs
    """

    def __init__(self, state: ServiceState, data: Path) -> None:
        self.state, self.data = state, data
        self.headers = {
            "authorization": f"Bearer {(data / 'service/admin.token').read_text().strip()}"
        }

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer. Raises: httpx2.HTTPStatusError for an error status."""
        answer = httpx2.request(
            method, self.state.url + path, json=body, headers=self.headers, timeout=60
        )
        answer.raise_for_status()
        return answer.json()

    def frames(self) -> tuple[int, float]:
        """(frames trained so far, time of the count), from the status file.

        A request for it would itself be a load.
        """
        status = json.loads((self.data / f"populations/{NAME}/status.json").read_bytes())
        return sum(int(member["frames"]) for member in status["members"]), float(
            status["written_at"]
        )

    def processor_s(self) -> float:
        """Processor time of the service so far."""
        times = psutil.Process(self.state.pid).cpu_times()
        return times.user + times.system

    def train(self, config: str) -> None:
        """Start the population, and wait until it has trained some frames."""
        from pbt.config.load import load_config

        table = load_config(config, ["stop_at_frames=1_000_000_000_000"]).model_dump(
            mode="json", exclude_unset=True
        )
        self.call("POST", "/v1/populations", {"name": NAME, "config": table, "start": True})
        deadline = time.monotonic() + START_S
        while self.call("GET", f"/v1/populations/{NAME}")["status"]["frames"] == 0:
            assert time.monotonic() < deadline, "it does not train; see the log of its trainer"
            time.sleep(0.5)


@contextmanager
def served(data: Path, log: Path) -> Iterator[Service]:
    """A service on a free port, stopped at the end. log: takes its output."""
    with log.open("wb") as output:
        words = [sys.executable, "-P", "-m", "arena", "serve", "--port", "0", "--data", str(data)]
        process = subprocess.Popen(words, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + START_S
        while (state := read_state(data)) is None:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield Service(state, data)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
