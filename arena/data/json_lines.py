"""Append-only files of JSON objects, one a line, that survive the kill of their writer."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pbt.errors import PbtError

TAIL_BYTES = 1 << 16


def read_lines(path: Path, containing: bytes) -> Iterator[dict[str, Any]]:
    """Whole lines with these bytes in them, parsed. Raises: PbtError naming the line when one in
    the middle is damaged.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            if containing not in line:
                continue
            parsed = _parsed(line)
            if parsed is None:
                raise PbtError(
                    f"{path}, line {number}: found {line[:60]!r}, expected a JSON object; "
                    "delete that line"
                )
            yield parsed


def cut_torn_tail(path: Path) -> None:
    """Truncate behind the last whole line: a killed process, or a power cut, may have left part
    of one.
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
    """Whole lines of the end of a file, parsed, without damaged ones; and whether that is all of
    the file. [] where there is none.
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
