"""Telemetry of a run, which shows where its time goes: a file, and lines printed at the end.

A line of `telemetry.jsonl` in the metrics folder is {"incarnation", "t", "elapsed_s", "frames",
"restarts", "rows_produced", "rows_trained", "rows_standing", "dropped.REASON" ...,
"KIND.processes", "KIND.rate", "KIND.queue", "KIND.STAGE_s" ...}. KIND is what a process hosts
("main", "worker+learner", "server", ...), and its values are sums over the processes of that kind.
Rows are counted since the population began; seconds and restarts are counted since this start.
Needs no torch.
"""

import csv
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self, TextIO

from arena.data.json_lines import open_to_append, read_lines, to_line
from arena.data.status import ProcessRow, RunStatus, updates_line

TELEMETRY_FILE = "telemetry.jsonl"
STAGES = {
    "simulate": "simulating",
    "infer": "inferring",
    "learn": "learning",
    "gather": "gathering",
    "wait": "waiting",
}
"""Stage -> the word that people read, in the order shown."""

_FIRST_COLUMNS = (
    "incarnation",
    "t",
    "elapsed_s",
    "frames",
    "restarts",
    "rows_produced",
    "rows_trained",
    "rows_standing",
)


class TelemetryWriter:
    """Appends points to the file; each is readable at once.

    A population has one writer, the holder of its lock.
    """

    def __init__(self, folder: Path, incarnation: int) -> None:
        self._incarnation = incarnation
        self._file = open_to_append(folder / TELEMETRY_FILE)

    def point(self, status: RunStatus) -> None:
        """Appends one point. Raises: OSError when the disk refuses; the file is then unchanged."""
        line = to_line({"incarnation": self._incarnation, **telemetry_point(status)})
        size, written = self._file.seek(0, os.SEEK_END), 0
        try:
            written = self._file.write(line)
        finally:
            if written != len(line):
                self._file.truncate(size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._file.close()


def telemetry_point(status: RunStatus) -> dict[str, float]:
    """The values of one line, by name."""
    rows = status.rows
    point: dict[str, float] = {
        "t": round(status.written_at, 3),
        "elapsed_s": round(status.ran_s, 3),
        "frames": sum(member.frames for member in status.members),
        "restarts": sum(process.restarts for process in status.processes),
        "rows_produced": rows.produced,
        "rows_trained": rows.trained,
        "rows_standing": rows.standing,
        **{f"dropped.{reason}": count for reason, count in sorted(rows.dropped.items())},
    }
    for kind, processes in by_kind(status.processes).items():
        point |= {
            f"{kind}.processes": len(processes),
            f"{kind}.rate": round(sum(process.rate for process in processes), 1),
            f"{kind}.queue": sum(process.queue for process in processes),
        }
        for stage, seconds in stage_seconds(processes).items():
            point[f"{kind}.{stage}_s"] = round(seconds, 3)
    return point


def by_kind(processes: Iterable[ProcessRow]) -> dict[str, list[ProcessRow]]:
    kinds: defaultdict[str, list[ProcessRow]] = defaultdict(list)
    for process in processes:
        kinds[process.kind].append(process)
    return dict(kinds)


def stage_seconds(processes: Iterable[ProcessRow]) -> dict[str, float]:
    """Stage -> seconds, summed over the processes, in the order of STAGES."""
    total: Counter[str] = Counter()
    for process in processes:
        total.update(process.stage_s)
    return {
        stage: total[stage]
        for stage in (*STAGES, *(stage for stage in total if stage not in STAGES))
        if stage in total
    }


def telemetry_csv(folder: Path, out: TextIO) -> int:
    """Writes every point as CSV and returns their number.

    Every name has a column; it is empty where a point does not have that value.
    Raises: PbtError for a damaged line.
    """
    path = folder / TELEMETRY_FILE
    lines = list(read_lines(path, b'"incarnation":')) if path.exists() else []
    names = sorted({name for line in lines for name in line} - {*_FIRST_COLUMNS})
    writer = csv.DictWriter(out, [*_FIRST_COLUMNS, *names], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return len(lines)


def telemetry_lines(status: RunStatus) -> list[str]:
    """Lines printed at the end of a run: the rows, a line per kind of process, the updates."""
    rows = status.rows
    dropped = (
        ", ".join(f"{count:,} {reason}" for reason, count in sorted(rows.dropped.items())) or "none"
    )
    lines = [
        (
            f"rows: {rows.produced:,} produced, {rows.trained:,} trained, {rows.standing:,} "
            f"standing; dropped: {dropped}"
        )
    ]
    for kind, processes in by_kind(status.processes).items():
        restarts, queue = (
            sum(process.restarts for process in processes),
            sum(process.queue for process in processes),
        )
        extra = f"; {queue} waiting" * bool(queue) + f"; restarts: {restarts}" * bool(restarts)
        lines.append(f"{len(processes)} x {kind}: {shares_text(stage_seconds(processes))}{extra}")
    if (updates := updates_line(status.members)) is not None:
        lines.append(updates)
    return lines


def shares_text(seconds: Mapping[str, float]) -> str:
    """{"infer": 3.0, "wait": 1.0} -> "inferring 75 %, waiting 25 %"."""
    total = sum(seconds.values())
    if total <= 0:
        return "no time accounted"
    return ", ".join(
        f"{STAGES.get(stage, stage)} {spent / total:.0%}".replace("%", " %")
        for stage, spent in seconds.items()
    )
