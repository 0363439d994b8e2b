"""Training curves in memory, for those who look again and again: a file is read once, and then only
what was added to it.

Holds what `arena.data.metrics.read_metrics` gives. Needs no torch.
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

from arena.data.metrics import METRICS_FILE
from pbt.errors import PbtError

MAX_NUMBERS = 20_000_000
"""Of all populations together, 8 bytes each; those that nobody looked at for longest go first."""

_ABSENT = math.inf  # values are finite, or NaN where they were not

_decode = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, slots=True)
class Points:
    """One curve. frames [N] int64;  seconds [N]: its trainers had run when the point was taken;
    values [N], NaN where one was not finite.
    """

    frames: NDArray[np.int64]
    seconds: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(slots=True)
class _Member:
    """One entry a row in every array."""

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
        """Rows behind these frames were played again."""
        behind = bisect_right(self.frames, frames)
        del self.frames[behind:]
        for column in (self.seconds, *self.values.values()):
            del column[behind:]

    def points(
        self, keys: Collection[str] | None, first: int, last: int | None
    ) -> dict[str, Points]:
        """Copies: a view of an array that grows would forbid it to. keys: only these."""
        part = slice(
            bisect_left(self.frames, first),
            None if last is None else bisect_right(self.frames, last),
        )
        frames, seconds = np.array(self.frames[part]), np.array(self.seconds[part])
        found = {}
        for key, column in self.values.items():
            if keys is None or key in keys:
                values = np.array(column[part])
                there = values != _ABSENT
                found[key] = (
                    Points(frames, seconds, values)
                    if there.all()
                    else Points(frames[there], seconds[there], values[there])
                )
        return found


class _File:
    """One metrics file, read as far as it goes."""

    def __init__(self, path: Path) -> None:
        self._path, self.lock = path, threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self.members: dict[str, _Member] = {}
        self._inode = self._offset = self._lines = 0
        self._incarnation, self._began, self._earlier, self._seconds = -1, 0.0, 0.0, 0.0

    def refresh(self) -> None:
        """Take what was added. A line still being written waits. Raises: PbtError naming a
        damaged line.
        """
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            self._forget()
            return
        with file:
            found = os.fstat(file.fileno())
            if found.st_ino != self._inode or found.st_size < self._offset:
                self._forget()
                self._inode = found.st_ino
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
            where = f"{self._path}, line {self._lines + 1}"
            raise PbtError(
                f"{where}: found {line[:60]!r}, expected a JSON object; delete that line"
            ) from error
        incarnation, t = row.pop("incarnation"), row.pop("t")
        if incarnation != self._incarnation:
            self._incarnation, self._began, self._earlier = incarnation, t, self._seconds
        self._seconds = self._earlier + t - self._began
        if (cuts := row.get("resume")) is not None:
            for name, frames in cuts.items():
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
    """Curves of the populations that are looked at. May be used from several threads."""

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
        """(names of all curves there are, member -> name -> curve), without superseded rows;
        nothing where there is no file.

        keys, members: only these;  first, last: only points of these frames. Raises: PbtError
                                    naming the line when one is damaged.
        """
        path = folder / METRICS_FILE
        with self._lock:
            file = self._files.setdefault(path, _File(path))
            self._files.move_to_end(path)
        with file.lock:
            file.refresh()
            names = sorted({key for member in file.members.values() for key in member.values})
            found = {
                name: member.points(keys, first, last)
                for name, member in file.members.items()
                if members is None or name in members
            }
        self._make_room()
        return names, found

    @property
    def held(self) -> int:
        """Numbers in memory."""
        return sum(file.numbers for file in self._files.values())

    def _make_room(self) -> None:
        with self._lock:
            while len(self._files) > 1 and self.held > self._max_numbers:
                self._files.popitem(last=False)


def curves_stamp(folder: Path) -> str:
    """Changes with every row."""
    try:
        found = (folder / METRICS_FILE).stat()
    except FileNotFoundError:
        return "none"
    return f"{found.st_ino:x}-{found.st_size:x}"
