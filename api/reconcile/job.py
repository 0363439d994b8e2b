"""What trainings and matches have in common: a process that works, is seen, asked and counted.

Each look of the reconciler goes through four calls: `seen`, `rules.decide`, `act` (which starts the
program that `command` names), `record`.
"""

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from api.http.settings import Settings
from api.reconcile.rules import End, Ruling, Seen, Wanted, backoff_s
from api.reconcile.trainer_process import LONGEST_LOOK_S, Trainer, at_work
from pbt.errors import PbtError
from pbt.processes.watched_time import WatchedTime

REASON_LINES = 100

Row = TypeVar("Row")

log = structlog.stdlib.get_logger("api.jobs")


class Job(ABC, Generic[Row]):
    """At most one process that works on one row of the league. Used from one thread.

    name     what it works on, for the log of the service
    output   the file with what its processes print
    process  that works on it now, None while there is none
    """

    def __init__(self, name: str, output: Path, settings: Settings) -> None:
        self.name, self.output = name, output
        self.process: Trainer | None = None
        self._settings = settings
        self._asked: WatchedTime | None = None
        self._ends = 0
        self._retry_at = 0.0
        self._reached = 0
        self._no_start: End | None = None
        self._held = ""

    # --- what each kind says ----------------------------------------------------------------------

    @abstractmethod
    def wanted(self, row: Row) -> Wanted:
        """What is wanted of it."""

    @abstractmethod
    def command(self, row: Row) -> Sequence[str]:
        """The program that works on it. Raises: OSError or PbtError when it cannot be prepared."""

    @abstractmethod
    def record(self, row: Row, decision: Ruling | None, seen: Seen) -> None:
        """Store what was decided, and answer the requests that it fulfils."""

    @abstractmethod
    def progress(self, row: Row) -> int:
        """A number that grows with what is kept: its newest checkpoint, or its games."""

    @abstractmethod
    def how_it_ended(self, process: Trainer, code: int) -> End:
        """What the end of its process says. code: negative for a signal."""

    @abstractmethod
    def known_process(self, row: Row) -> str | None:
        """Identity of the process that the league knows to work on it."""

    def ready(self, row: Row) -> bool:
        """Whether its process has reported that it works."""
        return self.progress(row) > 0

    def outside(self, row: Row) -> int | None:
        """The pid of another process that works on it."""
        known = self.known_process(row)
        return None if known is None else at_work(known, self._settings.data)

    def ask_outside(self, pid: int) -> None:
        """Ask a process that this service did not start to stop."""
        raise AssertionError(f"{self.name}: process {pid} is left alone")

    # --- the four calls ---------------------------------------------------------------------------

    def seen(self, row: Row) -> Seen:
        """What there is to see now. Nothing is decided here."""
        now = time.monotonic()
        end = self._take_end(row, now)
        if self._ends and self.running and self.progress(row) > self._reached:
            self._ends = 0
        return Seen(
            running=self.running,
            ready=self.running and self.ready(row),
            outside=None if self.running else self.outside(row),
            asked_s=None if self._asked is None else self._asked.look(),
            grace_s=self._settings.stop_grace_s,
            wait_s=max(0.0, self._retry_at - now),
            ends=self._ends,
            held=self._held,
            end=end,
        )

    def act(self, row: Row, decision: Ruling, seen: Seen) -> None:
        """Do what was decided to its process."""
        match decision.action:
            case "start":
                self._start(row)
            case "stop" if self.process is not None:
                self._asked = WatchedTime(LONGEST_LOOK_S)
                self.process.stop()
            case "stop" if seen.outside is not None:
                self.ask_outside(seen.outside)
            case "kill" if self.process is not None:
                self.process.kill()
            case _:
                return
        log.info(decision.action, job=self.name, state=decision.state, reason=decision.reason)

    @property
    def running(self) -> bool:
        return self.process is not None

    def identity(self, row: Row) -> str | None:
        """Of the process that works on it: its own, or one that an earlier service left."""
        if self.process is not None:
            return self.process.identity
        known = self.known_process(row)
        if known is None or at_work(known, self._settings.data) is None:
            return None
        return known

    def forgive(self) -> None:
        """Forget earlier ends of its process, because a person asked for a new start."""
        self._ends, self._retry_at = 0, 0.0

    def started(self, row: Row) -> None:
        """Note what the process that was just started knows."""

    def _start(self, row: Row) -> None:
        try:
            self.process = Trainer(self.command(row), self.output)
        except (OSError, PbtError) as error:
            message = f"its process could not be started: {error}"
            self._no_start = End("broke", "crashed", message)
            return
        self._asked = None
        self.started(row)

    def _take_end(self, row: Row, now: float) -> End | None:
        """How its process ended since the last look; ends by a fault are counted."""
        end, self._no_start = self._no_start, None
        if self.process is not None and (code := self.process.exit_code()) is not None:
            process, asked = self.process, self._asked is not None
            self.process, self._asked = None, None
            end = self.how_it_ended(process, code)
            if asked and end.how != "finished":
                if end.how == "broke":
                    words = process.output(5)
                    log.warning("broke while it stopped", job=self.name, code=code, output=words)
                end = End("left", end.reason, end.message)
        if end is not None:
            # Every viewer reads it: what is where on this machine stays in the log.
            said = end.message.replace(f"{self._settings.data}/", "")
            log.info("ended", job=self.name, how=end.how, reason=end.reason, message=end.message)
            end = replace(end, message=said)
            self._count(end, self.progress(row), now)
        return end

    def _count(self, end: End, reached: int, now: float) -> None:
        if end.how == "broke":
            self._ends = 1 if reached > self._reached else self._ends + 1
            self._reached = reached
            settings, jitter = self._settings, random.random()
            wait_s = backoff_s(self._ends, settings.backoff_s, settings.max_backoff_s, jitter)
            self._retry_at = now + wait_s
        elif end.reason == "held":
            self._retry_at = now + self._settings.max_backoff_s
            self._held = end.message
        elif end.how == "finished":
            self._ends = 0
