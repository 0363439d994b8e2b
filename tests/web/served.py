"""The service behind the browser, and what a test asks of it behind the browser's back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.browser import VIEWS
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
        self.call(
            "POST", "/v1/populations", {"name": name, "config": {**SMALL, **changed}, "start": True}
        )

    def seated(self, **asked: Any) -> Any:
        """A game begun behind the browser's back, once the person is to move."""
        made = self.call(
            "POST",
            "/v1/plays",
            {"opponent": "random", "name": "Ada", "env": "connect_four", **asked},
        )
        self.wait(lambda: self.call("GET", f"/v1/plays/{made['id']}")["state"] == "turn")
        return self.call("GET", f"/v1/plays/{made['id']}")

    @contextmanager
    def views(self) -> Iterator[dict[str, tuple[str, str]]]:
        """Name of each view -> its address, and what it says once everything has come: of the
        population `first`, its first match, and a board.
        """
        (game,) = self.call("GET", "/v1/populations/first/games?kind=evaluation&limit=1")["items"]
        play = self.seated()
        there = {
            "population": "first",
            "match": "1",
            "evaluation": "1",
            "game": game["id"],
            "play": play["id"],
        }
        try:
            yield {
                name: (view.path.format(**there), view.shows.format(**there))
                for name, view in VIEWS.items()
            }
        finally:
            self.call("DELETE", f"/v1/plays/{play['id']}")

    def wait(self, true: Callable[[], bool]) -> None:
        served.wait(true, WAIT_S, self.log)
