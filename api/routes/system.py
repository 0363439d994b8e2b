"""The state of the service and its machine, and of each training."""

import os
from collections import Counter
from dataclasses import asdict
from typing import Literal

import psutil
from fastapi import APIRouter
from pydantic import BaseModel

from api.context import Context, Here
from api.reconcile.trainings import checkpoint_age_s
from api.routes.bodies import PopulationName
from api.routes.health import unready
from arena.assessment.training_warnings import warnings
from arena.data.status import Moment, PopulationView, RunStatus, look
from arena.league.supervised import get_supervised, list_supervised
from arena.machine import memory_bytes, usable_cores, versions
from pbt.errors import PbtError

router = APIRouter(prefix="/v1", tags=["service"])


class ProcessBody(BaseModel):
    """One process of a training.

    population    that it trains
    name          of the process
    pid           of the process
    roles         what it hosts
    state         what it does
    rate          rows per second
    restarts      how often it was started again
    beat_age_s    seconds since its last sign of life, when that was written
    queue         how many items wait in front of it
    shares        of its time, by stage ("simulate", "infer", "wait", "learn", "gather")
    memory_bytes  resident, null for one that is gone
    """

    population: str
    name: str
    pid: int
    roles: list[str]
    state: str
    rate: float
    restarts: int
    beat_age_s: float
    queue: int
    shares: dict[str, float]
    memory_bytes: int | None


class RowsBody(BaseModel):
    """Rows of experience since the population began.

    produced = trained + dropped + standing, but for those on their way at this moment.

    produced  by games
    trained   used in updates
    standing  waiting to be used
    dropped   made without use, by reason
    """

    produced: int
    trained: int
    standing: int
    dropped: dict[str, int]


class HealthBody(BaseModel):
    """The health of a training.

    running           a process trains it
    placement         of its components; null before its first start
    started_at        of the trainer, in seconds since 1970
    age_s             seconds since the trainer wrote these values, null when it never did
    checkpoint_age_s  seconds since the newest checkpoint, null without one
    processes         of the training
    rows              of experience
    updates           optimiser steps that all members took since the population began
    refused_updates   steps that were not taken, because a loss or a gradient was not finite
    warnings          problems, in words
    """

    running: bool
    placement: str | None
    started_at: float | None
    age_s: float | None
    checkpoint_age_s: float | None
    processes: list[ProcessBody]
    rows: RowsBody | None
    updates: int
    refused_updates: int
    warnings: list[str]


class DiskBody(BaseModel):
    """The disk of the data directory.

    free_bytes    of the disk
    total_bytes   of the disk
    state         "ok"; "soft": nothing new starts; "hard": trainings save and wait, and changes are
                  refused
    league_bytes  of the database file
    log_bytes     of its write-ahead log
    """

    free_bytes: int
    total_bytes: int
    state: Literal["ok", "soft", "hard"]
    league_bytes: int
    log_bytes: int


class MachineBody(BaseModel):
    """The machine, as far as this service may use it.

    cores            that it may use
    load             processes that want to run, mean over a minute
    memory_bytes     that it may use
    available_bytes  of memory
    """

    cores: int
    load: float
    memory_bytes: int
    available_bytes: int


class SystemBody(BaseModel):
    """The service, its machine and its trainings.

    versions      of this program and its libraries
    pid           of the service
    started_at    of the service, in seconds since 1970
    memory_bytes  of the service
    max_running   populations that train at the same time
    populations   how many are in each state
    machine       cores and memory
    disk          free space
    processes     of all trainings that run here
    problems      why the service is not ready; empty when it is
    """

    versions: dict[str, str]
    pid: int
    started_at: float
    memory_bytes: int
    max_running: int
    populations: dict[str, int]
    machine: MachineBody
    disk: DiskBody
    processes: list[ProcessBody]
    problems: list[str]


@router.get("/system", operation_id="getSystem", response_model=SystemBody)
def system(here: Here) -> SystemBody:
    """The machine, its disk, this service, and the processes of every training on it."""
    rows = list_supervised(here.league)
    processes = [
        process
        for row in rows
        if (view := _look(here, row.name)) is not None and view.running
        for process in processes_of(view.status)
    ]
    return SystemBody(
        versions=versions(),
        pid=os.getpid(),
        started_at=here.started_at,
        memory_bytes=psutil.Process().memory_info().rss,
        max_running=here.settings.max_running,
        populations=dict(Counter(row.state for row in rows)),
        machine=_machine(),
        disk=_disk(here),
        processes=processes,
        problems=unready(here),
    )


@router.get("/populations/{name}/health", operation_id="getHealth", response_model=HealthBody)
def health(here: Here, name: PopulationName) -> HealthBody:
    """What its trainer and its processes do, or did last."""
    row, view = get_supervised(here.league, name), _look(here, name)
    status = None if view is None else view.status
    running = view is not None and view.running
    members = () if status is None else status.members
    return HealthBody(
        running=running,
        placement=None if status is None else status.placement,
        started_at=None if status is None else status.started_at,
        age_s=None if view is None else view.age_s,
        checkpoint_age_s=checkpoint_age_s(here.paths(name).checkpoints),
        processes=processes_of(status, alive=running),
        rows=None if status is None else RowsBody(**asdict(status.rows)),
        updates=sum(member.updates for member in members),
        refused_updates=sum(member.refused_updates for member in members),
        warnings=warnings(row, status, Moment.now()),
    )


def processes_of(status: RunStatus | None, *, alive: bool = True) -> list[ProcessBody]:
    """The processes in a status. alive: they still run, so their memory can be measured."""
    if status is None:
        return []
    return [
        ProcessBody(
            population=status.population,
            shares=row.shares,
            memory_bytes=_memory(row.pid) if alive else None,
            **asdict(row),
        )
        for row in status.processes
    ]


def _look(here: Context, name: str) -> PopulationView | None:
    """The status of a training; None while the file is damaged: it is written every second."""
    try:
        return look(here.paths(name), name)
    except PbtError:
        return None


def _memory(pid: int) -> int | None:
    """Resident memory of a process, None when it is gone."""
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return None


def _machine() -> MachineBody:
    memory = memory_bytes()
    return MachineBody(
        cores=usable_cores(),
        load=os.getloadavg()[0],
        memory_bytes=memory,
        available_bytes=min(memory, psutil.virtual_memory().available),
    )


def _disk(here: Context) -> DiskBody:
    space = psutil.disk_usage(str(here.settings.data))
    sizes = [_size(f"{here.league.path}{end}") for end in ("", "-wal")]
    return DiskBody(
        free_bytes=space.free,
        total_bytes=space.total,
        state=here.supervisor.disk,
        league_bytes=sizes[0],
        log_bytes=sizes[1],
    )


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
