"""The live status of a run, which the trainer writes to `status.json` every second.

The command line and the service read the file. Needs no torch.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

from arena.data.lock import holder
from arena.data.paths import PopulationPaths
from pbt.errors import PbtError
from pbt.files import write_whole
from pbt.objective import ObjectiveKind

# The file is written every second; a checkpoint or a busy machine may delay it by a few seconds.
STALE_AFTER_S = 10.0
ENDED = "ended"
AT_REST = ("created", "stopped", "failed", "finished", "interrupted", "deleting")
"""States of a population in which no member learns."""


@dataclass(frozen=True)
class ProcessRow:
    """The status of one process of the run.

    name        name of the process
    pid         its process id
    roles       what it hosts, such as "worker" or "learner NAME"
    state       what it does now, in a word; "ended" where nothing runs any more
    rate        rows per second
    restarts    how often it was restarted
    beat_age_s  seconds since its last sign of life, when the file was written
    queue       how many requests or slots wait for it
    stage_s     seconds by stage ("simulate", "infer", "wait", "learn", "gather") since the run
                began
    """

    name: str
    pid: int
    roles: tuple[str, ...]
    state: str
    rate: float = 0.0
    restarts: int = 0
    beat_age_s: float = 0.0
    queue: int = 0
    stage_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kinds of its roles without their names: "worker", "worker+learner"."""
        return "+".join(dict.fromkeys(role.split()[0] for role in self.roles)) or self.name

    @property
    def shares(self) -> dict[str, float]:
        """Each stage's part of the accounted time, in [0, 1]; empty before there is any."""
        total = sum(self.stage_s.values())
        return (
            {stage: seconds / total for stage, seconds in self.stage_s.items()} if total > 0 else {}
        )


@dataclass(frozen=True)
class MemberRow:
    """The status of one member.

    name             name of the member
    frames           its clock
    lag              mean policy lag of its newest update, in versions of the weights; None before
                     one
    state            "learning", "finished" or "failed"; "stopped" where it learned and nothing runs
                     any more
    ranked           the number that PBT ranks, in the run's `ranked_by`; None before any game
                     counts
    updates          optimiser steps that were taken since the population began
    refused_updates  steps that were not taken, because a loss or a gradient was not finite
    failure          why it failed; "" while it has not
    """

    name: str
    frames: int
    lag: float | None
    state: str
    ranked: float | None = None
    updates: int = 0
    refused_updates: int = 0
    failure: str = ""


@dataclass(frozen=True)
class RowCounts:
    """Counts of experience rows since the population began.

    produced = trained + dropped + standing, except for rows that are in transit at this moment.

    produced  rows that were filled
    trained   rows that a learner trained on
    standing  rows that wait in slots and batches
    dropped   rows that were thrown away, by reason
    """

    produced: int
    trained: int
    standing: int
    dropped: Mapping[str, int]


@dataclass(frozen=True)
class RunStatus:
    """The status of a run at one moment.

    population     name of the population
    pid            the trainer's process
    placement      how the run is spread over processes
    started_at     seconds since the epoch
    written_at     seconds since the epoch
    ended          "" while it runs, else how it ended, in words
    processes      its processes
    members        its members
    rows           its rows of experience
    edits_taken    number of the newest edits (`arena.data.edits`) that are in force
    edits_refused  number of the newest edits that need a restart
    trouble        why results cannot be stored now, in words; None when they can
    ranked_by      the objective by which PBT ranks; None in the status of an earlier version
    wiring         what the parts of the run do not agree on, in words; None when all agree
    ran_s          how long this run has been going, in seconds, whatever the wall clock did
    steady_s       when this was written, on the clock `time.monotonic()`, which all processes of a
                   machine share until it starts again; None in the status of an earlier version
    """

    population: str
    pid: int
    placement: str
    started_at: float
    written_at: float
    ended: str
    processes: tuple[ProcessRow, ...]
    members: tuple[MemberRow, ...]
    rows: RowCounts
    edits_taken: int = 0
    edits_refused: int = 0
    trouble: str | None = None
    ranked_by: ObjectiveKind | None = None
    wiring: str | None = None
    ran_s: float = 0.0
    steady_s: float | None = None

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        """The inverse of `asdict`. Raises: KeyError, TypeError or ValueError for anything else."""
        processes = tuple(
            ProcessRow(**{**entry, "roles": tuple(entry["roles"])}) for entry in table["processes"]
        )
        members = tuple(MemberRow(**entry) for entry in table["members"])
        return cls(
            **{
                **table,
                "processes": processes,
                "members": members,
                "rows": RowCounts(**table["rows"]),
            }
        )


@dataclass(frozen=True)
class Moment:
    """A moment on both clocks.

    wall_s    seconds since the epoch, for dates. This clock may be set while a training runs
    steady_s  `time.monotonic()`, for durations
    """

    wall_s: float
    steady_s: float

    @classmethod
    def now(cls) -> Self:
        return cls(time.time(), time.monotonic())


def age_s(status: RunStatus, now: Moment, *, running: bool) -> float:
    """Seconds since the status was written.

    running: its trainer runs, so the machine has not started again since. Otherwise only the wall
    clock can tell.
    """
    if running and status.steady_s is not None:
        return max(0.0, now.steady_s - status.steady_s)
    return max(0.0, now.wall_s - status.written_at)


class Updating(Protocol):
    """What a member's row says of its updates."""

    @property
    def name(self) -> str: ...

    @property
    def updates(self) -> int: ...

    @property
    def refused_updates(self) -> int: ...


def refusals(members: Iterable[Updating]) -> list[str]:
    """A warning for each member that had updates refused."""
    return [
        f"{member.name}: {member.refused_updates:,} of "
        f"{member.updates + member.refused_updates:,} updates "
        f"{'was' if member.refused_updates == 1 else 'were'} refused, because a loss or a "
        "gradient was not finite"
        for member in members
        if member.refused_updates
    ]


def updates_line(members: Sequence[Updating]) -> str | None:
    """How many updates all members together took, and how many were refused; None before any."""
    taken = sum(member.updates for member in members)
    refused = sum(member.refused_updates for member in members)
    return f"updates: {taken:,} taken, {refused:,} refused" if taken or refused else None


def failures(members: Iterable[MemberRow]) -> list[str]:
    """A warning for each member that failed, with the reason where it is known."""
    return [
        f"{member.name} failed, and learns no more" + f": {member.failure}" * bool(member.failure)
        for member in members
        if member.state == "failed"
    ]


def write_status(path: Path, status: RunStatus) -> None:
    """Writes the file whole or not at all. Raises: OSError when the disk refuses."""
    write_whole(path, json.dumps(asdict(status), separators=(",", ":")))


def read_status(path: Path) -> RunStatus | None:
    """The status in the file, None where there is no file. Raises: PbtError for a damaged one."""
    try:
        return RunStatus.parse(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise PbtError(
            f"{path}: damaged ({type(error).__name__}: {error}); a running training writes "
            "it anew every second"
        ) from error


@dataclass(frozen=True)
class PopulationView:
    """A population as another process sees it.

    population  its name
    pid         the process that holds its lock, None when no process trains it
    status      what its trainer, or an earlier one, wrote last; None before the first
    now         when this view was made
    """

    population: str
    pid: int | None
    status: RunStatus | None
    now: Moment

    @property
    def running(self) -> bool:
        return self.pid is not None

    @property
    def starting(self) -> bool:
        """Whether its trainer runs and has not written a status yet."""
        return self.running and (
            self.status is None or self.status.pid != self.pid or self.status.ended != ""
        )

    @property
    def age_s(self) -> float | None:
        """Seconds since the status was written, None without one."""
        if self.status is None:
            return None
        return age_s(self.status, self.now, running=self.running)

    @property
    def stale(self) -> bool:
        """Whether its trainer runs but has stopped writing its status."""
        return (
            self.running
            and not self.starting
            and self.age_s is not None
            and self.age_s > STALE_AFTER_S
        )

    @property
    def state(self) -> str:
        """In words: "running", "starting", "never trained", or how the last run ended.

        A run that could not write how it ended was killed.
        """
        if self.running:
            return "starting" if self.starting else "running"
        if self.status is None:
            return "never trained"
        return self.status.ended or "killed"


def member_state(population: str, member: str) -> str:
    """The state of a member; its trainer's last report does not know that it has ended."""
    if member != "learning" or not (population in AT_REST or population == "paused"):
        return member
    return "paused" if population == "paused" else "stopped"


def look(paths: PopulationPaths, name: str) -> PopulationView:
    """The population as it is now. Raises: PbtError when the status file is damaged."""
    pid, status = holder(paths.lock), read_status(paths.status)
    if pid is None and status is not None:
        status = _at_rest(status)
    return PopulationView(name, pid, status, Moment.now())


def _at_rest(status: RunStatus) -> RunStatus:
    """What holds of a status now that nothing runs: it was written before the end."""
    members = (replace(row, state=member_state("stopped", row.state)) for row in status.members)
    processes = (replace(row, state=ENDED) for row in status.processes)
    return replace(status, members=tuple(members), processes=tuple(processes))


def look_json(view: PopulationView) -> dict[str, Any]:
    """The output of `arena status --json`."""
    status = view.status
    return {
        "population": view.population,
        "running": view.running,
        "state": view.state,
        "pid": view.pid,
        "stale": view.stale,
        "age_s": view.age_s,
        "placement": status.placement if status else None,
        "ranked_by": status.ranked_by if status else None,
        "processes": [{**asdict(row), "shares": row.shares} for row in status.processes]
        if status
        else [],
        "members": [asdict(row) for row in status.members] if status else [],
        "rows": asdict(status.rows) if status else None,
        "wiring": status.wiring if status else None,
    }
