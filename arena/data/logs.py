"""A training's own log: one JSON object a line with the population on each, in the words of the
service's log.
"""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arena.data.json_lines import last_lines

FILE = "train-{}.jsonl"
TAIL_BYTES = 1 << 20


class JsonLines(logging.Formatter):
    """What a record says as `event`; what it carries in `extra={"fields": {...}}` beside it."""

    def __init__(self, population: str) -> None:
        super().__init__()
        self._population = population

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "timestamp": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "population": self._population,
            "event": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # ASCII: half a character in somebody's message would else lose the line.
        return json.dumps({**getattr(record, "fields", {}), **line}, default=str)


def log_to(folder: Path, population: str, incarnation: int) -> None:
    """From now on what this process notes goes there, a file for each start."""
    folder.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(folder / FILE.format(incarnation), encoding="utf-8", delay=True)
    handler.setFormatter(JsonLines(population))
    root = logging.getLogger("arena")
    for earlier in root.handlers:
        earlier.close()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    root.propagate = False
    # A full disk must not spill the logger's own tracebacks over the display.
    logging.raiseExceptions = False


def newest_records(folder: Path, count: int) -> list[dict[str, Any]]:
    """The newest lines of all starts without a gap, oldest first; a line that was cut short is
    left out. [] where nothing was noted.
    """
    found: list[dict[str, Any]] = []
    for path in _newest_first(folder):
        records, whole = last_lines(path, TAIL_BYTES)
        found = [*records, *found]
        # What came before is not next to what was read.
        if len(found) >= count or not whole:
            break
    return found[-count:]


def _newest_first(folder: Path) -> list[Path]:
    before, after = FILE.split("{}")
    numbers = {
        path: path.name.removeprefix(before).removesuffix(after)
        for path in folder.glob(FILE.format("*"))
    }
    return sorted(
        (path for path, number in numbers.items() if number.isdigit()),
        key=lambda path: int(numbers[path]),
        reverse=True,
    )
