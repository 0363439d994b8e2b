"""The report that a process writes while it does requested work."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pbt.files import write_whole

TELL_EVERY_S = 0.5


class JobReport:
    """The file that says how far the work is, whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path, self._due_s = path, 0.0
        self._progress: dict[str, tuple[int, int | None]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)

    def look(self, what: str, done: int, total: int | None) -> None:
        """Note how much is done; write it if it is due."""
        self._progress[what] = done, total
        if time.monotonic() >= self._due_s:
            self.tell(None)
            self._due_s = time.monotonic() + TELL_EVERY_S

    def counts(self, what: str) -> Callable[[int, int], None]:
        """A function that notes how much of this part is done, and of how much."""
        return lambda done, total: self.look(what, done, total)

    def tells(self, what: str) -> Callable[[int, int], None]:
        """As `counts`, written each time: for parts of which each takes long."""

        def told(done: int, total: int) -> None:
            self._progress[what] = done, total
            self.tell(None)

        return told

    def tell(self, report: Mapping[str, Any] | None) -> None:
        """Write it now. report: of the finished work"""
        progress = [
            {"what": what, "done": done, "total": total}
            for what, (done, total) in self._progress.items()
        ]
        told = {"progress": progress, "report": report}
        write_whole(self._path, json.dumps(told, ensure_ascii=False, allow_nan=False))
