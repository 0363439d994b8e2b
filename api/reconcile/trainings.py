"""One population under supervision: its trainer, the facts about it, and the acts of a ruling."""

import json
import os
import random
import time
from contextlib import suppress
from pathlib import Path

import structlog

from api.http.settings import Settings
from api.reconcile.trainer_process import LOG_NAME, Trainer, alive
from api.reconcile.training_rules import Disk, End, Facts, Ruling, backoff_s, why_it_ended
from arena.data.edits import Edits, leave_edits
from arena.data.lock import holder
from arena.data.paths import PopulationPaths, population_paths
from arena.data.status import RunStatus, read_status
from arena.league.database import League
from arena.league.populations import stored_config
from arena.league.supervised import Desired, ObservedState, Supervised
from pbt.config.resume import is_live
from pbt.errors import PbtError
from pbt.files import write_whole

REASON_LINES = 100
INTERRUPTED, FAULTY = 130, 1
ENDED_WELL = ("finished", "stopped and saved")
LIVE_TIMEOUT_S = 60.0
"""A trainer that has not taken an edit within this time is started again with it."""

log = structlog.stdlib.get_logger("api.trainings")


def newest_status(paths: PopulationPaths) -> RunStatus | None:
    """The newest status that a trainer wrote; None where the file is damaged.

    The trainer writes it again every second.
    """
    try:
        return read_status(paths.status)
    except PbtError:
        return None


def checkpoint_folders(folder: Path) -> list[Path]:
    """The checkpoints in the folder, oldest first."""
    return sorted(path for path in folder.glob("*") if path.name.isdigit())


def checkpoint_age_s(folder: Path) -> float | None:
    """Age of the newest checkpoint in the folder, None without one."""
    times = []
    for path in checkpoint_folders(folder):
        with suppress(FileNotFoundError):  # the trainer removes older ones meanwhile
            times.append(path.stat().st_mtime)
    return max(0.0, time.time() - max(times)) if times else None


def _finished_text(own: RunStatus | None) -> str:
    fault = f"; WIRING FAULT: {own.wiring}" if own is not None and own.wiring else ""
    return f"every member reached its stop{fault}"


def _stopped_by_another(row: Supervised) -> ObservedState:
    """The state after a trainer saved and ended without a request of this service."""
    settled: Desired | None = "stopped" if row.desired == "running" else None
    message = "its trainer was asked to stop, but not by this service"
    return ObservedState("stopped", None, message, 0, None, settle=settled)


class TrainingJob:
    """Runs at most one trainer of one population. Used from one thread."""

    def __init__(self, name: str, settings: Settings, league: League) -> None:
        self.name, self._settings, self._league = name, settings, league
        self.paths = population_paths(settings.data, name)
        self.trainer: Trainer | None = None
        # The edits that its trainer knows.
        self._launched: tuple[str, ...] = ()
        # The revision of the edits that were left for the running trainer, and when.
        self._left, self._left_at = 0, 0.0
        self._asked: float | None = None
        self._ends = 0
        self._retry_at = 0.0
        self._checkpoint = 0

    @property
    def running(self) -> bool:
        return self.trainer is not None

    def look(
        self, row: Supervised, grace_s: float, *, place: bool, disk: Disk, leaving: bool
    ) -> tuple[Facts, ObservedState | None]:
        """The facts for `decide`; and, when its trainer has ended by itself, what that means.

        The arguments are facts that the service knows (`Facts`).
        """
        now = time.monotonic()
        ended = self._look_for_end(row, now)
        if self._ends and self.running and self._newest_checkpoint() > self._checkpoint:
            self._ends = 0
        outside = None if self.running else holder(self.paths.lock)
        if outside == os.getpid():  # this service is removing it
            outside = None
        facts = Facts(
            running=self.running,
            ready=self._is_ready(),
            outside=outside,
            leaving=leaving,
            asked_s=None if self._asked is None else now - self._asked,
            grace_s=grace_s,
            edited=self.running and self._needs_new_start(row, now),
            wait_s=max(0.0, self._retry_at - now),
            ends=self._ends,
            place=place or self.running,
            disk=disk,
        )
        return facts, ended

    def act(self, row: Supervised, decision: Ruling) -> ObservedState | None:
        """Carry out a ruling. Returns what to record when the trainer could not be started."""
        match decision.action:
            case "start":
                try:
                    self._start(row)
                except (OSError, PbtError) as error:
                    return self._count_end(
                        End("crashed", f"its trainer could not be started: {error}"),
                        time.monotonic(),
                    )
            case "stop" if self.trainer is not None:
                self._asked = time.monotonic()
                self.trainer.stop()
            case "kill" if self.trainer is not None:
                self.trainer.kill()
            case _:
                pass
        return None

    def seen(self, row: Supervised, decision: Ruling) -> ObservedState:
        """The state to record for a ruling."""
        in_force = len(self._launched) if decision.state == "running" else 0
        identity = self.trainer.identity if self.trainer is not None else self._stray(row)
        return ObservedState(
            decision.state,
            decision.reason,
            decision.message,
            self._ends,
            identity,
            in_force=in_force,
        )

    def recorded(self, seen: ObservedState) -> None:
        """Note that the state was recorded: the edits in force belong to the config now."""
        self._launched = self._launched[seen.in_force :]

    def forgive(self) -> None:
        """Forget earlier ends of the trainer, because a person asked for a new start."""
        self._ends, self._retry_at = 0, 0.0

    def status(self) -> RunStatus | None:
        return newest_status(self.paths)

    def _start(self, row: Supervised) -> None:
        self._ensure_config()
        edits = [word for override in row.overrides for word in ("--set", override)]
        where = ("--resume", self.name, "--data", str(self._settings.data))
        self.trainer = Trainer(
            [*self._settings.trainer, "train", *where, *edits], self.paths.logs / LOG_NAME
        )
        self._launched, self._asked, self._left = row.overrides, None, 0

    def _needs_new_start(self, row: Supervised, now: float) -> bool:
        """Whether the trainer must start again to know the edits.

        Edits that it can take while it runs are left for it here, until it reports to have them.
        """
        count = len(self._launched)
        waiting = row.overrides[count:]
        if row.overrides[:count] != self._launched or not all(
            is_live(word.partition("=")[0]) for word in waiting
        ):
            return True
        status = self.status()
        if not waiting or status is None or not self._is_ready():
            return False
        if self._left != row.revision:
            leave_edits(self.paths.edits, Edits(row.revision, waiting))
            self._left, self._left_at = row.revision, now
        elif status.edits_taken >= self._left:
            self._launched = row.overrides
        else:
            return status.edits_refused >= self._left or now - self._left_at > LIVE_TIMEOUT_S
        return False

    def _ensure_config(self) -> None:
        """Write the config file that the trainer reads from the row, before the first start."""
        if self.paths.config.exists():
            return
        self.paths.logs.mkdir(parents=True, exist_ok=True)
        write_whole(self.paths.config, json.dumps(stored_config(self._league, self.name), indent=1))

    def _is_ready(self) -> bool:
        if self.trainer is None:
            return False
        status = self.status()
        return status is not None and status.pid == self.trainer.pid and not status.ended

    def _look_for_end(self, row: Supervised, now: float) -> ObservedState | None:
        code = None if self.trainer is None else self.trainer.exit_code()
        if self.trainer is None or code is None:
            return None
        trainer, stopping = self.trainer, self._asked is not None
        status = self.status()
        own = status if status is not None and status.pid == trainer.pid else None
        finished = own is not None and own.ended == "finished"
        code = self._without_faults(code, own)
        self.trainer, self._asked = None, None
        if finished and code == 0 and row.overrides != self._launched:
            return ObservedState(
                "starting",
                "edit",
                "reached its stop, and was edited meanwhile: starts again",
                0,
                None,
            )
        if finished and code == 0:
            return ObservedState("finished", None, _finished_text(own), 0, None)
        if stopping:
            if code not in (0, INTERRUPTED):
                log.warning(
                    "trainer broke while it was stopping",
                    population=self.name,
                    code=code,
                    output=trainer.output(5),
                )
            return None
        if code in (0, INTERRUPTED):
            return _stopped_by_another(row)
        return self._count_end(
            why_it_ended(
                code, trainer.output(REASON_LINES), out_of_memory=trainer.ran_out_of_memory()
            ),
            now,
        )

    def _without_faults(self, code: int, own: RunStatus | None) -> int:
        """The exit code; 0 where it is 1 because certificates found a fault in the wiring.

        own: the last status of the trainer. It saved and ended as it should.
        """
        if code != FAULTY or own is None or not own.wiring or own.ended not in ENDED_WELL:
            return code
        log.warning("wiring fault", population=self.name, fault=own.wiring)
        return 0

    def _count_end(self, end: End, now: float) -> ObservedState:
        newest = self._newest_checkpoint()
        self._ends = 1 if newest > self._checkpoint else self._ends + 1
        self._checkpoint = newest
        if end.lasting or self._ends > self._settings.max_restarts:
            times = (
                "" if end.lasting else f"{self._ends} times without a new checkpoint; the last: "
            )
            return ObservedState("failed", end.reason, times + end.message, self._ends, None)
        self._retry_at = now + backoff_s(
            self._ends, self._settings.backoff_s, self._settings.max_backoff_s, random.random()
        )
        return ObservedState("recovering", end.reason, end.message, self._ends, None)

    def _newest_checkpoint(self) -> int:
        """The number of its newest checkpoint, 0 before any."""
        folders = checkpoint_folders(self.paths.checkpoints)
        return int(folders[-1].name) if folders else 0

    def _stray(self, row: Supervised) -> str | None:
        """The identity of an earlier service's trainer while that lives; else None."""
        return row.trainer if row.trainer is not None and alive(row.trainer) is not None else None
