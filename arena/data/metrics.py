"""Training curves of one population: an append-only file of JSON lines, and TensorBoard events.

Every reader of the project uses the JSON lines; the events repeat the same points for TensorBoard.
A line is {"incarnation", "member", "frames", "t", value by name ...} or, at a resume,
{"incarnation", "resume": {member: frames}, "t"}. A resume supersedes the rows of earlier
incarnations after those frames, because the run trains those frames again. `t` is in seconds since
the epoch. The caller chooses how often a point is taken. A point with 15 values takes about 430
bytes as a JSON line and 280 as an event.
"""

import csv
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TextIO

from arena.data.json_lines import open_to_append, read_lines, to_line
from pbt.errors import PbtError

METRICS_FILE = "metrics.jsonl"
TENSORBOARD_FOLDER = "tensorboard"
RESERVED_NAMES = frozenset({"incarnation", "member", "frames", "t", "resume"})


@dataclass(frozen=True, slots=True)
class MetricsRow:
    """One point of every curve of one member. A value that was not finite is None.

    incarnation  number of the trainer's start that wrote the point
    member       name of the member
    frames       the member's clock
    t            seconds since the epoch
    values       value by curve name
    """

    incarnation: int
    member: str
    frames: int
    t: float
    values: Mapping[str, float | None]


class MetricsWriter:
    """Appends points to the file; `flush` makes them readable.

    A population has one writer, the holder of its lock, and one thread uses it. When the disk
    refuses a write, no point is lost: the points wait, and the next flush continues at the byte
    where the last one stopped.
    """

    def __init__(
        self,
        folder: Path,
        incarnation: int,
        *,
        tensorboard: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._incarnation = incarnation
        self._clock = clock
        self._file = open_to_append(folder / METRICS_FILE)
        self._unwritten = bytearray()
        self._events = (
            _EventFiles(folder / TENSORBOARD_FOLDER, incarnation, clock) if tensorboard else None
        )

    def series(self, member: str, frames: int, values: Mapping[str, float]) -> None:
        """Adds one point for each name, at `frames` of the member's clock.

        Raises: PbtError on a name that the file format uses itself.
        """
        if taken := RESERVED_NAMES & values.keys():
            raise PbtError(
                f"metrics of {member}: the names {sorted(taken)} belong to the file format; "
                "use others"
            )
        t = round(self._clock(), 3)
        plain = {name: float(value) for name, value in values.items()}
        finite = {name: value if math.isfinite(value) else None for name, value in plain.items()}
        self._unwritten += to_line(
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
        """Notes that training resumes from a checkpoint with these clocks, in frames.

        Rows of earlier incarnations after these frames are superseded.
        """
        t = round(self._clock(), 3)
        self._unwritten += to_line(
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
        """Hands all points to the operating system. Raises: OSError when the disk refuses.

        A caller flushes at least every second, because a killed process loses unflushed points.
        """
        while self._unwritten:
            del self._unwritten[: self._file.write(self._unwritten)]
        if self._events is not None:
            self._events.flush()

    def close(self) -> None:
        """Flushes and closes the files. Points that the disk still refuses are lost."""
        with suppress(OSError):
            self.flush()
        self._file.close()
        if self._events is not None:
            self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def read_metrics(folder: Path, members: Collection[str] | None = None) -> Iterator[MetricsRow]:
    """The rows in the order written, without superseded ones. There are none without a file.

    A line that is still being written is left out.
    members  only these members; None: all
    Raises: PbtError that names a damaged line.
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
                (at[key[1]] for later, at in resumes if later > key[0] and key[1] in at),
                default=math.inf,
            )
        if line["frames"] <= limits[key]:
            yield MetricsRow(*key, line.pop("frames"), line.pop("t"), line)


def metrics_csv(folder: Path, out: TextIO) -> int:
    """Writes the rows of `read_metrics` as CSV and returns their number.

    Every name has a column; it is empty where a row does not have that value.
    """
    names = sorted({name for row in read_metrics(folder) for name in row.values})
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["incarnation", "member", "frames", "t", *names])
    count = 0
    for row in read_metrics(folder):
        values = (row.values.get(name) for name in names)
        writer.writerow([row.incarnation, row.member, row.frames, row.t, *values])
        count += 1
    return count


class _EventFiles:
    """TensorBoard event files, one per member and incarnation.

    They are written by the calling thread. TensorBoard's own writer would add a thread and a queue
    without a deadline.
    """

    def __init__(self, folder: Path, incarnation: int, clock: Callable[[], float]) -> None:
        self._folder = folder
        self._incarnation = incarnation
        self._clock = clock
        self._records: dict[str, Any] = {}  # tensorboard's RecordWriter
        self._unwritten: list[tuple[str, bytes]] = []

    def points(self, member: str, frames: int, t: float, values: Mapping[str, float]) -> None:
        """Adds one event that holds all values."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        summary = Summary(
            value=[Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        )
        self._unwritten.append(
            (member, Event(wall_time=t, step=frames, summary=summary).SerializeToString())
        )

    def purge_behind(self, member: str, frames: int, t: float) -> None:
        """Adds a session start: TensorBoard drops the earlier points at or after its step."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog

        start = SessionLog(status=SessionLog.START)
        self._unwritten.append(
            (member, Event(wall_time=t, step=frames + 1, session_log=start).SerializeToString())
        )

    def flush(self) -> None:
        """Writes the events that wait. Raises: OSError when the disk refuses.

        A refused write may leave half an event in a file, so the next flush begins new files.
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

    def _record(self, member: str) -> Any:
        """The member's open file.

        TensorBoard reads the files of a folder in the order of their names, so a name begins with
        the time.
        """
        if member not in self._records:
            from tensorboard.compat.proto.event_pb2 import Event
            from tensorboard.summary.writer.record_writer import RecordWriter

            t = self._clock()
            folder = self._folder / member
            self._folder.mkdir(exist_ok=True)
            folder.mkdir(exist_ok=True)
            file = (folder / f"events.out.tfevents.{int(t):010d}.{self._incarnation:06d}").open(
                "ab"
            )
            record = RecordWriter(file)
            record.write(Event(wall_time=t, file_version="brain.Event:2").SerializeToString())
            self._records[member] = record
        return self._records[member]
