"""The supervisor: the loop that starts and stops trainings and matches until all is as wanted.

It is one thread. It looks every quarter of a second, and at once after a request.
"""

import os
import shutil
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import structlog

from api.http.observability import Observed
from api.http.settings import Settings
from api.reconcile.matches import MatchJobs
from api.reconcile.strays import Strays
from api.reconcile.training_rules import Disk, Facts, decide
from api.reconcile.trainings import TrainingJob, checkpoint_age_s
from arena.league.database import League
from arena.league.deletion import delete
from arena.league.operations import (
    Kind,
    Operation,
    OperationState,
    finish_operations,
    open_operations,
)
from arena.league.service_events import copy_training_events, forget_old_events
from arena.league.supervised import ObservedState, Supervised, list_supervised, record
from pbt.errors import PbtError, PlayerError

MEASURE_EVERY_S = 1.0
FORGET_EVERY_S = 600.0
LATE_S = 10.0
END_TIMEOUT_S = 15.0
LEAVING: tuple[Kind, ...] = ("stop", "pause", "delete")

log = structlog.stdlib.get_logger("api.supervisor")


class Supervisor:
    """Supervises all populations and match requests of a league.

    Made once, by the process that holds the service's lock.
    """

    def __init__(self, settings: Settings, league: League, observed: Observed) -> None:
        self._settings, self._league, self._observed = settings, league, observed
        self._jobs: dict[str, TrainingJob] = {}
        self._strays = Strays(league)
        self._match_jobs = MatchJobs(settings, league)
        self._signalled: set[int] = set()
        self._forgiven: dict[str, int] = {}
        self._deletions: dict[str, Future[None]] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="deletion")
        self._wake = threading.Event()
        self._closing = False
        self._beat = time.monotonic()
        self._measured = self._forgot = 0.0
        self.disk: Disk = "ok"
        self.writable = True
        self._thread = threading.Thread(target=self._run, name="supervisor")

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    @property
    def late_s(self) -> float:
        """Seconds since the last look."""
        return time.monotonic() - self._beat

    def close(self) -> None:
        """Let every trainer save and stop. What is wanted stays recorded, for the next service.

        May be called again.
        """
        self._closing = True
        self.wake()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)
        trainers = [
            job.trainer for job in self._jobs.values() if job.trainer is not None
        ] + self._match_jobs.processes
        for trainer in trainers:
            trainer.stop()
        deadline = time.monotonic() + END_TIMEOUT_S
        while (
            any(trainer.exit_code() is None for trainer in trainers) and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        for trainer in trainers:
            trainer.kill()

    def _run(self) -> None:
        while not self._closing:
            try:
                self._look()
            except PbtError as error:
                self.writable = False
                log.warning("league refuses; looking again", error=str(error))
            except Exception:  # if the supervisor ended, nothing would supervise the trainings
                log.exception("fault in the supervisor; looking again")
            self._beat = time.monotonic()
            self._wake.wait(self._settings.look_every_s)
            self._wake.clear()

    def _look(self) -> None:
        self._strays.end()
        now = time.monotonic()
        measured = now - self._measured >= MEASURE_EVERY_S
        if measured:
            self._measured = now
            self._measure()
            with self._league.write():
                self.writable = True
        copy_training_events(self._league)
        if now - self._forgot >= FORGET_EVERY_S:
            self._forgot = now
            forget_old_events(self._league)
        # Operations are read before rows: a request between the two changes its row at once, and
        # its operation is answered at the next look.
        operations = open_operations(self._league)
        rows = list_supervised(self._league)
        if measured:
            self._observed.count(row.state for row in rows)
        # Populations are started in the order of the requests.
        for row in sorted(rows, key=lambda row: row.desired_at):
            if row.desired is not None:
                self._try_step(
                    row, [operation for operation in operations if operation.population == row.name]
                )
        names = {row.name for row in rows}
        for name in self._jobs.keys() - names:
            del self._jobs[name]
            self._observed.forget(name)
        for name in {
            operation.population for operation in operations if operation.kind == "delete"
        } - names:
            self._delete(name, None)
        self._match_jobs.look(self.disk)

    def _try_step(self, row: Supervised, operations: Sequence[Operation]) -> None:
        """Take one step. A fault of one population must not stop the others."""
        try:
            self._step(row, operations)
        except PbtError:
            raise
        except Exception:
            log.exception("fault; looking again", population=row.name)

    def _step(self, row: Supervised, operations: Sequence[Operation]) -> None:
        job = self._jobs.setdefault(row.name, TrainingJob(row.name, self._settings, self._league))
        if row.revision != self._forgiven.setdefault(row.name, row.revision):
            self._forgiven[row.name] = row.revision
            job.forgive()
        grace_s = next(
            (operation.grace_s for operation in operations if operation.grace_s is not None),
            self._settings.stop_grace_s,
        )
        place = sum(other.running for other in self._jobs.values()) < self._settings.max_running
        leaving = any(operation.kind in LEAVING for operation in operations)
        facts, ended = job.look(row, grace_s, place=place, disk=self.disk, leaving=leaving)
        self._stop_outside(facts, operations)
        if ended is not None:
            self._tell_end(row, ended, facts, operations)
            return
        decision = decide(row.desired, row.state, facts)
        if decision is None:
            self._answer(row.name, row.state, row.message, facts, operations)
        elif decision.action == "delete":
            self._delete(row.name, row)
        else:
            if (refused := job.act(row, decision)) is not None:
                self._tell_end(row, refused, facts, operations)
                return
            if decision.action != "none":
                log.info(
                    decision.action,
                    population=row.name,
                    state=decision.state,
                    reason=decision.reason,
                )
            self._keep(row, job.seen(row, decision), facts, operations)

    def _tell_end(
        self, row: Supervised, ended: ObservedState, facts: Facts, operations: Sequence[Operation]
    ) -> None:
        log.info(
            "trainer ended",
            population=row.name,
            state=ended.state,
            reason=ended.reason,
            message=ended.message,
        )
        self._observed.trainer_ends.labels(ended.reason or ended.state).inc()
        self._keep(row, ended, facts, operations)
        if ended.settle is not None:
            finish_operations(self._league, row.name, "STOPPED", ended.message, ("start", "resume"))

    def _keep(
        self, row: Supervised, seen: ObservedState, facts: Facts, operations: Sequence[Operation]
    ) -> None:
        """Write what changed, then answer the operations."""
        recorded = ObservedState(row.state, row.reason, row.message, row.restarts, row.trainer)
        if seen != recorded:
            if not record(self._league, row.name, seen, row.revision):
                return
            self._jobs[row.name].recorded(seen)
        self._answer(row.name, seen.state, seen.message, facts, operations)

    def _answer(
        self, name: str, state: str, message: str, facts: Facts, operations: Sequence[Operation]
    ) -> None:
        for operation in operations:
            now = outcome(operation.kind, state, facts)
            if now != operation.state:
                finish_operations(
                    self._league, name, now, message if now == "FAILED" else None, (operation.kind,)
                )

    def _stop_outside(self, facts: Facts, operations: Sequence[Operation]) -> None:
        """Ask a training that a person started by hand to stop, once per operation."""
        for operation in operations:
            if (
                facts.outside is not None
                and operation.kind in LEAVING
                and operation.id not in self._signalled
            ):
                self._signalled.add(operation.id)
                with suppress(ProcessLookupError):
                    os.kill(facts.outside, signal.SIGTERM)

    def _delete(self, name: str, row: Supervised | None) -> None:
        """Delete a population in another thread: many games take minutes; the loop must go on.

        row  None when it is gone already: a service that was killed may have left files
        """
        running = self._deletions.get(name)
        if running is None:
            if row is not None:
                message = "its rows and files are being removed"
                seen = ObservedState("deleting", "delete", message, 0, None)
                record(self._league, name, seen, row.revision)
                finish_operations(self._league, name, "RUNNING", None, ("delete",))
            self._deletions[name] = self._pool.submit(delete, self._settings.data, name)
            self._deletions[name].add_done_callback(lambda _: self.wake())
        elif running.done():
            del self._deletions[name]
            error = running.exception()
            if row is None and (error is None or isinstance(error, PlayerError)):
                # PlayerError: there was nothing left to remove.
                finish_operations(self._league, name, "SUCCEEDED", None, ("delete",))
            elif error is not None:
                if row is not None:
                    log.warning("deletion failed", population=name, error=str(error))
                    message = f"not removed: {error}"
                    seen = ObservedState("stopped", "delete", message, 0, None, settle="stopped")
                    record(self._league, name, seen, row.revision)
                finish_operations(self._league, name, "FAILED", str(error), ("delete",))

    def _measure(self) -> None:
        free = shutil.disk_usage(self._settings.data).free
        self.disk = (
            "hard"
            if free < self._settings.hard_disk_bytes
            else "soft"
            if free < self._settings.soft_disk_bytes
            else "ok"
        )
        self._observed.free_bytes.set(free)
        with suppress(FileNotFoundError):
            self._observed.wal_bytes.set(os.stat(f"{self._league.path}-wal").st_size)
        for name, job in self._jobs.items():
            if (age_s := checkpoint_age_s(job.paths.checkpoints)) is not None:
                self._observed.checkpoint_age.labels(name).set(age_s)
            status = job.status() if job.running else None
            if status is not None:
                self._observed.training(name, status)


def outcome(kind: Kind, state: str, facts: Facts) -> OperationState:
    """The state of an operation, from the recorded state of its population.

    A deletion sets its own state when it ends.
    """
    at_rest = not facts.running and facts.outside is None
    match kind:
        case "delete":
            return "RUNNING"
        case "start" | "resume":
            done: dict[str, OperationState] = {
                "running": "SUCCEEDED",
                "finished": "SUCCEEDED",
                "failed": "FAILED",
                "queued": "PENDING",
            }
            return done.get(state, "RUNNING")
        case _:
            return (
                "SUCCEEDED"
                if at_rest and state in ("stopped", "paused", "created", "finished", "failed")
                else "RUNNING"
            )
