"""The supervisor: the loop that starts and stops trainings and matches until all is as wanted.

It is one thread. It looks every quarter of a second, and at once after a request.
"""

import os
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

import structlog

from api.http.observability import Observed
from api.http.settings import Settings
from api.reconcile.deletions import Deletions
from api.reconcile.job import Job
from api.reconcile.matches import MatchJob
from api.reconcile.reported import ReportedJob
from api.reconcile.requested import RequestedJob
from api.reconcile.rules import Disk, Room, decide
from api.reconcile.strays import Strays
from api.reconcile.trainer_process import Trainer
from api.reconcile.trainings import TrainingJob, TrainingRequest, checkpoint_age_s
from arena.league.database import League
from arena.league.job_requests import JobRequest, open_jobs
from arena.league.match_requests import MatchRequest, open_match_requests
from arena.league.new_games import NewGames
from arena.league.operations import open_operations
from arena.league.service_events import copy_training_events, forget_old_events
from arena.league.supervised import list_supervised
from pbt.errors import PbtError
from pbt.processes.child_process import KILL_TIMEOUT_S
from pbt.processes.watched_time import WatchedTime

MEASURE_EVERY_S = 1.0
FORGET_EVERY_S = 600.0
LATE_S = 10.0
END_TIMEOUT_S = 15.0

Row = TypeVar("Row")

log = structlog.stdlib.get_logger("api.supervisor")


class Supervisor:
    """Supervises all populations and match requests of a league.

    Made once, by the process that holds the service's lock.
    """

    def __init__(self, settings: Settings, league: League, observed: Observed) -> None:
        self._settings, self._league, self._observed = settings, league, observed
        self._trainings: dict[str, TrainingJob] = {}
        self._requested: dict[int, ReportedJob[Any]] = {}
        self._strays = Strays(league, settings.data)
        self._games = NewGames(league)
        self._wake = threading.Event()
        self._deletions = Deletions(settings.data, league, self._wake.set)
        self._closing = False
        self._beat = time.monotonic()
        self._measured = self._forgot = 0.0
        self.disk: Disk = "ok"
        # Why the league refuses now, None while it takes rows.
        self.refusal: str | None = None
        self._thread = threading.Thread(target=self._run, name="supervisor")

    def start(self) -> None:
        """Begin to look; a service that only reads starts and records nothing."""
        if not self._settings.read_only:
            self._strays.start()
            self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    @property
    def late_s(self) -> float:
        """Seconds since the last look."""
        return time.monotonic() - self._beat

    @property
    def _processes(self) -> list[Trainer]:
        jobs: tuple[Job[Any], ...] = (*self._trainings.values(), *self._requested.values())
        return [job.process for job in jobs if job.process is not None]

    def close(self) -> None:
        """Let every process save and stop. What is wanted stays recorded, for the next service.

        May be called again.
        """
        self._closing = True
        self._strays.close()
        self.wake()
        if self._thread.is_alive():
            self._thread.join()
        self._deletions.close()
        processes = self._processes
        for process in processes:
            process.stop()
        _await_ends(processes, END_TIMEOUT_S)
        for process in processes:
            process.kill()
        _await_ends(processes, KILL_TIMEOUT_S)

    def _run(self) -> None:
        while not self._closing:
            try:
                self._look()
            except PbtError as error:
                if str(error) != self.refusal:
                    log.warning("league refuses; looking again", error=str(error))
                self.refusal = str(error)
            except Exception:  # if the supervisor ended, nothing would supervise the trainings
                log.exception("fault in the supervisor; looking again")
            self._beat = time.monotonic()
            self._wake.wait(self._settings.look_every_s)
            self._wake.clear()

    def _look(self) -> None:
        # Before anything is looked for in the data directory: it may have been moved away.
        self._league.refuse_if_away()
        now = time.monotonic()
        measured = now - self._measured >= MEASURE_EVERY_S
        if measured:
            self._measured = now
            self._measure()
            with self._league.write():
                self.refusal = None
        copy_training_events(self._league)
        if now - self._forgot >= FORGET_EVERY_S:
            self._forgot = now
            forget_old_events(self._league)
        self._look_at_trainings(count=measured)
        self._look_at_requests()

    def _look_at_trainings(self, *, count: bool) -> None:
        # Operations are read before rows: a request between the two changes its row at once, and
        # its operation is answered at the next look.
        operations = open_operations(self._league)
        rows = list_supervised(self._league)
        if count:
            self._observed.count({row.name: row.state for row in rows})
        # Populations are started in the order of the requests.
        for row in sorted(rows, key=lambda row: row.desired_at):
            if row.name not in self._trainings:
                self._trainings[row.name] = TrainingJob(
                    row.name, self._settings, self._league, self._observed, self._deletions
                )
            if row.desired is not None:
                mine = tuple(one for one in operations if one.population == row.name)
                self._step(
                    self._trainings[row.name],
                    TrainingRequest(row, mine),
                    self._room(place=self._may_train),
                )
        names = {row.name for row in rows}
        for name in self._trainings.keys() - names:
            del self._trainings[name]
            self._observed.forget(name)
        for name in {one.population for one in operations if one.kind == "delete"} - names:
            self._deletions.step(name, None)

    @property
    def _may_train(self) -> bool:
        """Whether there is a place for a training, or for a comparison, which trains."""
        trainings = sum(job.running for job in self._trainings.values())
        comparing = sum(job.running and job.trains for job in self._requested.values())
        return trainings + comparing < self._settings.max_running

    @property
    def _may_play(self) -> bool:
        """Whether there is a place for a match, or for other work that does not train."""
        playing = sum(job.running and not job.trains for job in self._requested.values())
        return playing < self._settings.max_evaluations

    def _look_at_requests(self) -> None:
        """Matches and other work wait in one queue, but comparisons for a place to train."""
        rows: list[MatchRequest | JobRequest] = [*open_match_requests(self._league)]
        rows += open_jobs(self._league)
        self._observed.waiting(row.state for row in rows)
        for row in sorted(rows, key=lambda row: row.id):  # oldest first
            if row.id not in self._requested:
                self._requested[row.id] = self._job_of(row)
            job = self._requested[row.id]
            self._step(
                job, row, self._room(place=self._may_train if job.trains else self._may_play)
            )
        for number in self._requested.keys() - {row.id for row in rows}:
            del self._requested[number]

    def _job_of(self, row: MatchRequest | JobRequest) -> ReportedJob[Any]:
        if isinstance(row, MatchRequest):
            return MatchJob(row, self._settings, self._league)
        return RequestedJob(row, self._settings, self._league)

    def _room(self, *, place: bool) -> Room:
        return Room(place, self.disk, self._settings.max_restarts)

    def _step(self, job: Job[Row], row: Row, room: Room) -> None:
        """See, decide, act, record. A fault of one job must not stop the others."""
        try:
            seen = job.seen(row)
            decision = decide(job.wanted(row), seen, room)
            if decision is not None:
                job.act(row, decision, seen)
            job.record(row, decision, seen)
        except PbtError:
            raise
        except Exception:
            log.exception("fault; looking again", job=job.name)

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
        for name, job in self._trainings.items():
            if (age_s := checkpoint_age_s(job.paths.checkpoints)) is not None:
                self._observed.checkpoint_age.labels(name).set(age_s)
            status = job.status() if job.running else None
            if status is not None:
                self._observed.training(name, status)
        for name, counts in self._games.look().items():
            self._observed.played(name, counts)


def _await_ends(processes: Sequence[Trainer], timeout_s: float) -> None:
    """Wait until all have ended, each of which is reaped, or for timeout_s."""
    watched = WatchedTime()
    while any(process.exit_code() is None for process in processes) and watched.look() < timeout_s:
        time.sleep(0.05)
