"""The service behind the browser, and what a test asks of it behind the browser's back."""

from collections.abc import Callable
from typing import Any

from tests import served

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


class Served(served.Served):
    def text(self, path: str) -> str:
        return str(self.ask("GET", path).text)

    def code(self) -> str:
        return str(self.call("POST", "/v1/session/codes")["code"])

    def train(self, name: str, **changed: Any) -> None:
        """Make and start one."""
        self.call("POST", "/v1/populations", {"name": name, "config": {**SMALL, **changed}, "start": True})

    def wait(self, true: Callable[[], bool]) -> None:
        served.wait(true, WAIT_S, self.log)
