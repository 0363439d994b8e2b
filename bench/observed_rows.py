"""Counts the rows of experience that a running training makes, from its status."""

import threading
import time
from types import TracebackType
from typing import Self

from bench.recovered_speed import RowsMade
from tests.e2e.faults.running import Run

POLL_S = 0.2
# A status is written about once a second.
STATUS_LIMIT_S = 60.0


class Speed:
    """Rows of experience that a run has made, over time. A thread of its own reads the status."""

    def __init__(self, run: Run) -> None:
        self._run, self._closing = run, threading.Event()
        # time.monotonic() of each status, and the rows up to it.
        self._times: list[float] = []
        self._rows: list[int] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._look, name="speed", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._thread.join(30.0)

    def _look(self) -> None:
        offset_s = time.monotonic() - time.time()
        try:
            while not self._closing.wait(POLL_S):
                status = self._run.status()
                if status is not None and (
                    not self._times or status.written_at + offset_s > self._times[-1]
                ):
                    self._rows.append(status.rows.produced)
                    self._times.append(status.written_at + offset_s)
        except BaseException as error:  # noqa: BLE001  seen_until raises it
            self._error = error

    def seen_until(self, at_s: float) -> bool:
        """Whether a status of that moment or later was read.

        Raises: AssertionError when reading has failed.
        """
        if self._error is not None:
            raise AssertionError(f"looking at the training failed: {self._error}") from self._error
        return bool(self._times) and self._times[-1] >= at_s

    def made(self) -> RowsMade:
        """The rows so far."""
        looks = len(self._times)
        return RowsMade(self._times[:looks], self._rows[:looks])


def wait_until(run: Run, speed: Speed, at_s: float, limit_s: float = STATUS_LIMIT_S) -> None:
    """Wait for a status of that moment or later.

    limit_s  how long after the moment it may come
    Raises: AssertionError when it does not come.
    """
    run.until(
        lambda: speed.seen_until(at_s) or None,
        max(0.0, at_s - time.monotonic()) + limit_s,
        "a status of that moment",
    )
