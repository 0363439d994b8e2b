"""Training curves of one population: an append-only file of JSON lines that every reader uses, and
the same points as TensorBoard events.

A line is {"incarnation", "member", "frames", "t", value by name ...} or, at a resume,
{"incarnation", "resume": {member: frames}, "t"}: rows of earlier incarnations behind those frames
were played again and count no more. `t` is in seconds since the epoch. How often a point is taken
is the caller's choice; with 15 values, one takes about 430 bytes here and 280 there.
"""

import csv
import json
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TextIO

from arena.data.json_lines import cut_torn_tail, read_lines
from pbt.errors import PbtError

METRICS_FILE = "metrics.jsonl"
TENSORBOARD_FOLDER = "tensorboard"
RESERVED_NAMES = frozenset({"incarnation", "member", "frames", "t", "resume"})


@dataclass(frozen=True, slots=True)
class MetricsRow:
    """One point of every curve of one member. A value that was not finite is None."""

    incarnation: int
    member: str
    frames: int
    t: float
    values: Mapping[str, float | None]


class MetricsWriter:
    """Appends points; `flush` makes them readable. One writer per population (the holder of its
    lock), used from one thread.

    A disk that refuses loses none: they wait, and the next flush goes on at the very byte where
    this one stopped.
    """

    def __init__(
        self,
        folder: Path,
        incarnation: int,
        *,
        tensorboard: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / METRICS_FILE
        if path.exists():
            cut_torn_tail(path)
        self._incarnation = incarnation
        self._clock = clock
        self._file = path.open("ab", buffering=0)
        self._unwritten = bytearray()
        self._events = (
            _EventFiles(folder / TENSORBOARD_FOLDER, incarnation, clock) if tensorboard else None
        )

    def series(self, member: str, frames: int, values: Mapping[str, float]) -> None:
        """One point per name at `frames` of the member's clock. Raises: PbtError on a name that
        the format uses itself.
        """
        if taken := RESERVED_NAMES & values.keys():
            raise PbtError(
                f"metrics of {member}: the names {sorted(taken)} belong to the file format; "
                "use others"
            )
        t = round(self._clock(), 3)
        plain = {name: float(value) for name, value in values.items()}
        finite = {name: value if math.isfinite(value) else None for name, value in plain.items()}
        self._append(
            {
                "incarnation": self._incarnation,
                "member": member,
                "frames": int(frames),
                "t": t,
                **finite,
            }
        )
        if self._events is not None:
            self._events.points(member, int(frames), t, plain)

    def resume(self, frames_by_member: Mapping[str, int]) -> None:
        """Training goes on from a checkpoint with these clocks; later rows of earlier
        incarnations are superseded.
        """
        t = round(self._clock(), 3)
        self._append(
            {
                "incarnation": self._incarnation,
                "resume": {member: int(frames) for member, frames in frames_by_member.items()},
                "t": t,
            }
        )
        if self._events is not None:
            for member, frames in frames_by_member.items():
                self._events.purge_behind(member, int(frames), t)
        self.flush()

    def flush(self) -> None:
        """Hand everything to the operating system; due at least every second, since a killed
        process loses what was not flushed.

        Raises: OSError when the disk refuses.
        """
        while self._unwritten:
            del self._unwritten[: self._file.write(self._unwritten)]
        if self._events is not None:
            self._events.flush()

    def close(self) -> None:
        """What the disk refuses to the end is lost, as by a kill."""
        with suppress(OSError):
            self.flush()
        self._file.close()
        if self._events is not None:
            self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _append(self, line: Mapping[str, object]) -> None:
        self._unwritten += json.dumps(line, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def read_metrics(folder: Path, members: Collection[str] | None = None) -> Iterator[MetricsRow]:
    """Rows in the order written, without superseded ones; nothing when there is no file. A line
    still being written is left out.

    members: only these. Raises: PbtError naming the line when one in the middle is damaged.
    """
    path = folder / METRICS_FILE
    if not path.exists():
        return
    resumes = [
        (int(line["incarnation"]), line["resume"])
        for line in read_lines(path, b'"resume":')
        if "resume" in line
    ]
    limits: dict[tuple[int, str], float] = {}
    for line in read_lines(path, b'"member":'):
        if "resume" in line or (members is not None and line["member"] not in members):
            continue
        key = (int(line.pop("incarnation")), str(line.pop("member")))
        if key not in limits:
            limits[key] = min(
                (cuts[key[1]] for later, cuts in resumes if later > key[0] and key[1] in cuts),
                default=math.inf,
            )
        if line["frames"] <= limits[key]:
            yield MetricsRow(*key, line.pop("frames"), line.pop("t"), line)


def metrics_csv(folder: Path, out: TextIO) -> int:
    """Write the rows of `read_metrics` as CSV, one column per name (empty where a row has none);
    returns the number of rows.
    """
    names = sorted({name for row in read_metrics(folder) for name in row.values})
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["incarnation", "member", "frames", "t", *names])
    count = 0
    for row in read_metrics(folder):
        writer.writerow(
            [
                row.incarnation,
                row.member,
                row.frames,
                row.t,
                *(row.values.get(name) for name in names),
            ]
        )
        count += 1
    return count


class _Record(Protocol):
    """What is used of tensorboard's RecordWriter."""

    def write(self, data: bytes) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class _EventFiles:
    """TensorBoard event files, one per member and incarnation. Written in place: tensorboard's
    writer adds a thread and a queue without deadline.
    """

    def __init__(self, folder: Path, incarnation: int, clock: Callable[[], float]) -> None:
        self._folder = folder
        self._incarnation = incarnation
        self._clock = clock
        self._records: dict[str, _Record] = {}
        self._unwritten: list[tuple[str, bytes]] = []

    def points(self, member: str, frames: int, t: float, values: Mapping[str, float]) -> None:
        """One event that holds every value."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        summary = Summary(
            value=[Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        )
        self._unwritten.append(
            (member, Event(wall_time=t, step=frames, summary=summary).SerializeToString())
        )

    def purge_behind(self, member: str, frames: int, t: float) -> None:
        """TensorBoard drops points at or behind the step of a session start."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog

        start = SessionLog(status=SessionLog.START)
        self._unwritten.append(
            (member, Event(wall_time=t, step=frames + 1, session_log=start).SerializeToString())
        )

    def flush(self) -> None:
        """Raises: OSError when the disk refuses; half an event may stand in a file then, so the
        next flush begins new ones.
        """
        try:
            for member, event in self._unwritten:
                self._record(member).write(event)
            for record in self._records.values():
                record.flush()
        except OSError:
            self.close()
            raise
        self._unwritten.clear()

    def close(self) -> None:
        for record in self._records.values():
            with suppress(OSError):
                record.close()
        self._records.clear()

    def _record(self, member: str) -> _Record:
        """The member's file; TensorBoard reads a folder's files in the order of their names, so
        time comes first.
        """
        if member not in self._records:
            from tensorboard.compat.proto.event_pb2 import Event
            from tensorboard.summary.writer.record_writer import RecordWriter

            t = self._clock()
            folder = self._folder / member
            folder.mkdir(parents=True, exist_ok=True)
            file = (folder / f"events.out.tfevents.{int(t):010d}.{self._incarnation:06d}").open(
                "ab"
            )
            record: _Record = RecordWriter(file)
            record.write(Event(wall_time=t, file_version="brain.Event:2").SerializeToString())
            self._records[member] = record
        return self._records[member]
