"""Trainings as jobs: what is seen of a population's trainer, and what is recorded of it."""

import json
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from api.http.observability import Observed
from api.http.settings import Settings
from api.reconcile.deletions import Deletions
from api.reconcile.job import REASON_LINES, Job
from api.reconcile.rules import End, Ruling, Seen, Wanted, outcome, why_it_ended
from api.reconcile.trainer_process import LOG_NAME, Trainer
from arena.data.edits import Edits, leave_edits
from arena.data.lock import holder
from arena.data.paths import PopulationPaths, population_paths
from arena.data.status import RunStatus, read_status
from arena.league.database import League
from arena.league.operations import Kind, Operation, finish_operations
from arena.league.populations import stored_config
from arena.league.supervised import ObservedState, Supervised, record
from pbt.config.resume import is_live
from pbt.errors import PbtError
from pbt.files import write_whole

INTERRUPTED, FAULTY = 130, 1
ENDED_WELL = ("finished", "stopped and saved")
LEAVING: tuple[Kind, ...] = ("stop", "pause", "delete")
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
    """Age of the newest checkpoint in the folder, None without one.

    The time stands in the checkpoint: a copy or a restored backup is as old as what was copied. One
    that an earlier version wrote has the time of its folder.
    """
    for path in reversed(checkpoint_folders(folder)):
        with suppress(FileNotFoundError):  # the trainer removes older ones meanwhile
            return max(0.0, time.time() - _written_at(path))
    return None


def _written_at(checkpoint: Path) -> float:
    """When a checkpoint was written, in seconds since the epoch. Raises: FileNotFoundError."""
    folder_s = checkpoint.stat().st_mtime
    with suppress(OSError, ValueError, AttributeError):
        stamp = json.loads((checkpoint / "manifest.json").read_bytes()).get("written_at")
        if isinstance(stamp, (int, float)):
            return float(stamp)
    return folder_s


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """A population, and the operations on it that are open.

    row         as the league has it
    operations  oldest first
    """

    row: Supervised
    operations: tuple[Operation, ...] = ()

    @property
    def leaving(self) -> list[Operation]:
        """The operations that end its training."""
        return [operation for operation in self.operations if operation.kind in LEAVING]


class TrainingJob(Job[TrainingRequest]):
    """Runs at most one trainer of one population."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        league: League,
        observed: Observed,
        deletions: Deletions,
    ) -> None:
        self.paths = population_paths(settings.data, name)
        super().__init__(name, self.paths.logs / LOG_NAME, settings)
        self._league, self._observed, self._deletions = league, observed, deletions
        # The edits that its trainer knows.
        self._launched: tuple[str, ...] = ()
        # The revision of the edits that were left for the running trainer, and when.
        self._left, self._left_at = 0, 0.0
        # The revision that was seen last, and the operations of which another trainer was told.
        self._revision: int | None = None
        self._told: frozenset[int] = frozenset()

    # --- seen -------------------------------------------------------------------------------------

    def wanted(self, row: TrainingRequest) -> Wanted:
        return Wanted(row.row.desired, row.row.state)

    def seen(self, row: TrainingRequest) -> Seen:
        if self._revision not in (None, row.row.revision):
            self.forgive()
        self._revision = row.row.revision
        seen = super().seen(row)
        leaving = row.leaving
        graces = [operation.grace_s for operation in leaving if operation.grace_s is not None]
        told = leaving and {operation.id for operation in leaving} <= self._told
        edited = (
            self._needs_new_start(row.row)
            if seen.running
            else seen.end is not None and row.row.overrides != self._launched
        )
        return replace(
            seen,
            leaving=bool(leaving),
            asked_s=0.0 if seen.outside is not None and told else seen.asked_s,
            grace_s=graces[0] if graces else seen.grace_s,
            edited=edited,
        )

    def known_process(self, row: TrainingRequest) -> str | None:
        return row.row.trainer

    def outside(self, row: TrainingRequest) -> int | None:
        pid = holder(self.paths.lock)
        return None if pid == os.getpid() else pid  # this service is removing it

    def progress(self, row: TrainingRequest) -> int:
        """The number of its newest checkpoint, 0 before any."""
        folders = checkpoint_folders(self.paths.checkpoints)
        return int(folders[-1].name) if folders else 0

    def status(self) -> RunStatus | None:
        return newest_status(self.paths)

    def ready(self, row: TrainingRequest) -> bool:
        if self.process is None:
            return False
        status = self.status()
        return status is not None and status.pid == self.process.pid and not status.ended

    def how_it_ended(self, process: Trainer, code: int) -> End:
        status = self.status()
        own = status if status is not None and status.pid == process.pid else None
        code = self._without_faults(code, own)
        if own is not None and own.ended == "finished" and code == 0:
            fault = f"; WIRING FAULT: {own.wiring}" * bool(own.wiring)
            return End("finished", None, f"every member reached its stop{fault}")
        if code in (0, INTERRUPTED):
            return End("quit", None, "its trainer was asked to stop, but not by this service")
        output = process.output(REASON_LINES)
        memory = process.ran_out_of_memory()
        return why_it_ended(code, output, process.ending(), out_of_memory=memory)

    def _without_faults(self, code: int, own: RunStatus | None) -> int:
        """The exit code; 0 where it is 1 because certificates found a fault in the wiring.

        own: the last status of the trainer. It saved and ended as it should.
        """
        if code != FAULTY or own is None or not own.wiring or own.ended not in ENDED_WELL:
            return code
        log.warning("wiring fault", population=self.name, fault=own.wiring)
        return 0

    def _needs_new_start(self, row: Supervised) -> bool:
        """Whether the trainer must start again to know the edits.

        Edits that it can take while it runs are left for it here, until it reports to have them.
        """
        now, count = time.monotonic(), len(self._launched)
        waiting = row.overrides[count:]
        if row.overrides[:count] != self._launched or not all(
            is_live(word.partition("=")[0]) for word in waiting
        ):
            return True
        status = self.status() if waiting else None
        if status is None or self.process is None or status.pid != self.process.pid or status.ended:
            return False
        if self._left != row.revision:
            leave_edits(self.paths.edits, Edits(row.revision, waiting))
            self._left, self._left_at = row.revision, now
        elif status.edits_taken >= self._left:
            self._launched = row.overrides
        else:
            return status.edits_refused >= self._left or now - self._left_at > LIVE_TIMEOUT_S
        return False

    # --- done -------------------------------------------------------------------------------------

    def command(self, row: TrainingRequest) -> Sequence[str]:
        """Its trainer; before the first start, the config file that it reads is written."""
        if not self.paths.config.exists():
            self.paths.logs.mkdir(parents=True, exist_ok=True)
            config = json.dumps(stored_config(self._league, self.name), indent=1)
            write_whole(self.paths.config, config)
        edits = [word for override in row.row.overrides for word in ("--set", override)]
        where = ("--resume", self.name, "--data", str(self._settings.data))
        return [*self._settings.trainer, "train", *where, *edits]

    def started(self, row: TrainingRequest) -> None:
        self._launched, self._left = row.row.overrides, 0

    def act(self, row: TrainingRequest, decision: Ruling, seen: Seen) -> None:
        super().act(row, decision, seen)
        if decision.action == "delete":
            self._deletions.step(self.name, row.row)
        if seen.outside is not None:
            # It is asked once for each operation: later a person may train it by hand again.
            self._told = frozenset(operation.id for operation in row.leaving)

    def ask_outside(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    # --- recorded ---------------------------------------------------------------------------------

    def record(self, row: TrainingRequest, decision: Ruling | None, seen: Seen) -> None:
        """Write what changed, then answer the operations."""
        before = row.row
        if decision is None:
            self._answer(row, before.state, before.message, seen)
            return
        if decision.action == "delete":  # the deletion records itself, and answers
            return
        observed = ObservedState(
            decision.state,
            decision.reason,
            decision.message,
            seen.ends,
            self.identity(row),
            settle=decision.settle,
            in_force=len(self._launched) if decision.state == "running" else 0,
        )
        recorded = ObservedState(
            before.state, before.reason, before.message, before.restarts, before.trainer
        )
        if observed != recorded:
            if not record(self._league, self.name, observed, before.revision):
                return
            # The edits in force belong to the config now.
            self._launched = self._launched[observed.in_force :]
        if seen.end is not None and seen.end.how != "left":
            self._observed.trainer_ends.labels(decision.reason or decision.state).inc()
        self._answer(row, observed.state, observed.message, seen)
        if decision.state == "stopped" and decision.settle is not None:
            starts: tuple[Kind, ...] = ("start", "resume")
            finish_operations(self._league, self.name, "STOPPED", observed.message, starts)

    def _answer(self, row: TrainingRequest, state: str, message: str, seen: Seen) -> None:
        for operation in row.operations:
            now = outcome(operation.kind, state, seen)
            if now != operation.state:
                problem = message if now == "FAILED" else None
                finish_operations(self._league, self.name, now, problem, (operation.kind,))
