"""What a run does at this moment, as plain data: written by the process that trains into
`status.json`, read by anybody. Needs no torch.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from arena.data.lock import holder
from arena.data.paths import PopulationPaths
from pbt.errors import PbtError
from pbt.files import write_whole

# The file is written every second; a checkpoint or a busy machine may hold it up for a few.
STALE_AFTER_S = 10.0


@dataclass(frozen=True)
class ProcessRow:
    """One process. rate: rows per second;  beat_age_s: since its last sign of life when the file
    was written;  queue: what waits in front of it.

    stage_s  seconds by stage ("simulate", "infer", "wait", "learn", "gather") since the run began
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
        """What it hosts, without names: "worker", "worker+learner"."""
        return "+".join(dict.fromkeys(role.split()[0] for role in self.roles)) or self.name

    @property
    def shares(self) -> dict[str, float]:
        """Each stage's share of the accounted time; empty before there is any."""
        total = sum(self.stage_s.values())
        return (
            {stage: seconds / total for stage, seconds in self.stage_s.items()} if total > 0 else {}
        )


@dataclass(frozen=True)
class MemberRow:
    """lag: mean policy lag of its newest update, in versions of the weights, None before one;
    state: "learning", "finished" or "failed".
    """

    name: str
    frames: int
    lag: float | None
    state: str


@dataclass(frozen=True)
class RowCounts:
    """Rows of experience since the population began; produced = trained + dropped + standing,
    but for those on their way at this moment.
    """

    produced: int
    trained: int
    standing: int
    dropped: Mapping[str, int]


@dataclass(frozen=True)
class RunStatus:
    """One look at a run. started_at, written_at: seconds since the epoch;  ended: "" while it runs,
    else how it ended, in words.

    edits_taken, edits_refused: numbers of the newest edits left for it (`arena.data.edits`) that
    are in force, or need a new start
    trouble  what keeps results from being kept, in words; None when nothing does
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


def write_status(path: Path, status: RunStatus) -> None:
    """Whole or not at all. Raises: OSError when the disk refuses."""
    write_whole(path, json.dumps(asdict(status), separators=(",", ":")))


def read_status(path: Path) -> RunStatus | None:
    """None where no training has written one. Raises: PbtError when it is damaged."""
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
    """A population from outside. pid: of the process that holds its lock, None when nobody
    trains it;  status: written by it, or by the last one.
    """

    population: str
    pid: int | None
    status: RunStatus | None
    now: float

    @property
    def running(self) -> bool:
        return self.pid is not None

    @property
    def starting(self) -> bool:
        """It runs, and has not written anything yet."""
        return self.running and (
            self.status is None or self.status.pid != self.pid or self.status.ended != ""
        )

    @property
    def age_s(self) -> float | None:
        """Since the status was written."""
        return None if self.status is None else max(0.0, self.now - self.status.written_at)

    @property
    def stale(self) -> bool:
        """It runs, but tells nothing any more."""
        return (
            self.running
            and not self.starting
            and self.age_s is not None
            and self.age_s > STALE_AFTER_S
        )

    @property
    def state(self) -> str:
        """In words: "running", "starting", or how it ended; a run that could not say so was
        killed.
        """
        if self.running:
            return "starting" if self.starting else "running"
        if self.status is None:
            return "never trained"
        return self.status.ended or "killed"


def look(paths: PopulationPaths, name: str) -> PopulationView:
    """Raises: PbtError when the status file is damaged."""
    return PopulationView(name, holder(paths.lock), read_status(paths.status), time.time())


def look_json(seen: PopulationView) -> dict[str, Any]:
    """The form of `arena status --json`."""
    status = seen.status
    return {
        "population": seen.population,
        "running": seen.running,
        "state": seen.state,
        "pid": seen.pid,
        "stale": seen.stale,
        "age_s": seen.age_s,
        "placement": status.placement if status else None,
        "processes": [{**asdict(row), "shares": row.shares} for row in status.processes]
        if status
        else [],
        "members": [asdict(row) for row in status.members] if status else [],
        "rows": asdict(status.rows) if status else None,
    }
