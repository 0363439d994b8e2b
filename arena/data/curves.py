"""A cache of training curves, for readers that ask repeatedly, such as the service.

A metrics file is read once; later calls read only the lines that were added. The cache holds the
same rows as `arena.data.metrics.read_metrics` returns. It needs no torch.
"""

import math
import os
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from arena.data.json_lines import damaged_line
from arena.data.metrics import METRICS_FILE

MAX_NUMBERS = 20_000_000
"""Most numbers cached over all populations, at 8 bytes each.

The population that was least recently requested is evicted first.
"""

_ABSENT = math.inf  # marks a row without this value; stored values are finite, or NaN for others

_decode = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, slots=True)
class Points:
    """One curve of N points.

    frames   [N] the member's frames at each point
    seconds  [N] how long the population's trainers had run when the point was taken
    values   [N] NaN where a value was not finite
    """

    frames: NDArray[np.int64]
    seconds: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(slots=True)
class _Member:
    """The rows of one member, as columns: every array has one entry for each row."""

    frames: "array[int]" = field(default_factory=lambda: array("q"))
    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    values: "dict[str, array[float]]" = field(default_factory=dict)

    def append(self, frames: int, seconds: float, row: dict[str, float | None]) -> None:
        for key in row.keys() - self.values.keys():
            self.values[key] = array("d", [_ABSENT]) * len(self.frames)
        self.frames.append(frames)
        self.seconds.append(seconds)
        for key, values in self.values.items():
            value = row.get(key, _ABSENT)
            values.append(math.nan if value is None else value)

    def cut(self, frames: int) -> None:
        """Drops the rows after these frames, because a resumed run trains them again."""
        behind = bisect_right(self.frames, frames)
        del self.frames[behind:]
        for column in (self.seconds, *self.values.values()):
            del column[behind:]

    def points(
        self, keys: Collection[str] | None, first: int, last: int | None
    ) -> dict[str, Points]:
        """Name -> curve from `first` to `last` frames. keys: only these names; None: all.

        The curves are copies, because an array cannot grow while a view of it exists.
        """
        part = slice(
            bisect_left(self.frames, first),
            None if last is None else bisect_right(self.frames, last),
        )
        frames, seconds = np.array(self.frames[part]), np.array(self.seconds[part])
        curves = {}
        for key, column in self.values.items():
            if keys is None or key in keys:
                values = np.array(column[part])
                present = values != _ABSENT
                curves[key] = (
                    Points(frames, seconds, values)
                    if present.all()
                    else Points(frames[present], seconds[present], values[present])
                )
        return curves


class _File:
    """The rows of one metrics file, up to the last whole line that was read."""

    def __init__(self, path: Path) -> None:
        self._path, self.lock = path, threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self.members: dict[str, _Member] = {}
        self._inode = self._offset = self._lines = 0
        self._incarnation, self._began, self._earlier, self._seconds = -1, 0.0, 0.0, 0.0

    def refresh(self) -> None:
        """Reads the lines that were added. A line that is still being written waits.

        Raises: PbtError that names a damaged line.
        """
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            self._forget()
            return
        with file:
            stat = os.fstat(file.fileno())
            if stat.st_ino != self._inode or stat.st_size < self._offset:
                self._forget()
                self._inode = stat.st_ino
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._take(line)
                self._offset += len(line)
                self._lines += 1

    def _take(self, line: bytes) -> None:
        try:
            row = _decode(line)
        except msgspec.DecodeError as error:
            raise damaged_line(self._path, self._lines + 1, line) from error
        incarnation, t = row.pop("incarnation"), row.pop("t")
        if incarnation != self._incarnation:
            self._incarnation, self._began, self._earlier = incarnation, t, self._seconds
        self._seconds = self._earlier + t - self._began
        if (resumed_at := row.get("resume")) is not None:
            for name, frames in resumed_at.items():
                if name in self.members:
                    self.members[name].cut(frames)
            return
        name, frames = row.pop("member"), row.pop("frames")
        self.members.setdefault(name, _Member()).append(frames, self._seconds, row)

    @property
    def numbers(self) -> int:
        return sum(
            len(member.frames) * (2 + len(member.values)) for member in self.members.values()
        )


class CurveStore:
    """The cached curves of the populations that were requested. Several threads may use it."""

    def __init__(self, max_numbers: int = MAX_NUMBERS) -> None:
        self._max_numbers = max_numbers
        self._files: OrderedDict[Path, _File] = OrderedDict()
        self._lock = threading.Lock()

    def read(
        self,
        folder: Path,
        keys: Collection[str] | None = None,
        members: Collection[str] | None = None,
        first: int = 0,
        last: int | None = None,
    ) -> tuple[list[str], dict[str, dict[str, Points]]]:
        """(names of all curves that exist, member -> name -> curve), without superseded rows.

        Both are empty where there is no file.
        keys     only the curves with these names; None: all
        members  only these members; None: all
        first    only points at this many frames or more
        last     only points at this many frames or less; None: to the end
        Raises: PbtError that names a damaged line.
        """
        path = folder / METRICS_FILE
        with self._lock:
            file = self._files.setdefault(path, _File(path))
            self._files.move_to_end(path)
        with file.lock:
            file.refresh()
            names = sorted({key for member in file.members.values() for key in member.values})
            curves = {
                name: member.points(keys, first, last)
                for name, member in file.members.items()
                if members is None or name in members
            }
        self._make_room()
        return names, curves

    @property
    def held(self) -> int:
        """How many numbers the cache holds now."""
        return sum(file.numbers for file in self._files.values())

    def _make_room(self) -> None:
        with self._lock:
            while len(self._files) > 1 and self.held > self._max_numbers:
                self._files.popitem(last=False)


def curves_stamp(folder: Path) -> str:
    """A text that changes with every row that is written, for use as an HTTP entity tag."""
    try:
        stat = (folder / METRICS_FILE).stat()
    except FileNotFoundError:
        return "none"
    return f"{stat.st_ino:x}-{stat.st_size:x}"
