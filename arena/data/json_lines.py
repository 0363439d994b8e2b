"""Append-only files of JSON objects, one per line; they stay readable when their writer is killed.

A killed writer can leave part of a line at the end. Readers skip it, and the next writer cuts it
off.
"""

import json
import os
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from pbt.errors import PbtError

TAIL_BYTES = 1 << 16


def read_lines(path: Path, containing: bytes) -> Iterator[dict[str, Any]]:
    """The whole lines that contain these bytes, parsed.

    Raises: PbtError that names a damaged line, unless it is the unfinished last one.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            if containing not in line:
                continue
            parsed = _parsed(line)
            if parsed is None:
                raise damaged_line(path, number, line)
            yield parsed


def damaged_line(path: Path, number: int, line: bytes) -> PbtError:
    """The error that names a line without a JSON object."""
    return PbtError(
        f"{path}, line {number}: found {line[:60]!r}, expected a JSON object; delete that line"
    )


def open_to_append(path: Path) -> FileIO:
    """The file, behind its last whole line; the file and its folder are made if necessary."""
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        cut_torn_tail(path)
    return path.open("ab", buffering=0)


def to_line(table: Mapping[str, object]) -> bytes:
    """One line of such a file. Raises: ValueError on nan and inf."""
    return json.dumps(table, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def cut_torn_tail(path: Path) -> None:
    """Truncates the file after its last whole line.

    A killed process or a power failure may have left part of a line behind it.
    """
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        window = TAIL_BYTES
        while True:
            start = max(0, size - window)
            file.seek(start)
            lines = file.read(size - start).splitlines(keepends=True)
            while lines and not (lines[-1].endswith(b"\n") and _parsed(lines[-1]) is not None):
                lines.pop()
            if lines or start == 0:
                file.truncate(start + sum(map(len, lines)))
                return
            window *= 4


def last_lines(path: Path, most_bytes: int) -> tuple[list[dict[str, Any]], bool]:
    """(the last whole lines of a file, parsed, without damaged ones; whether that is all of it).

    ([], True) where there is no file.
    """
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - most_bytes)
            file.seek(start)
            lines = file.read().splitlines()
    except FileNotFoundError:
        return [], True
    return [
        parsed for line in lines[bool(start) :] if (parsed := _parsed(line)) is not None
    ], not start


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None
