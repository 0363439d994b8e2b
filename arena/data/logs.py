"""A training's own log: JSON lines with the population on each, as the service's log has them."""

import logging
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import structlog

from arena.data.json_lines import last_lines

FILE = "train-{}.jsonl"
TAIL_BYTES = 1 << 20


def log_to(folder: Path, population: str, incarnation: int) -> None:
    """Send every record of the logger `arena` to a file of this start.

    A line has `timestamp`, `level`, `logger`, `population`, `event`, `exception` after an error,
    and what the record carries in `extra`.
    """

    def add_population(
        logger: Any, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        return {**event, "population": population}

    folder.mkdir(exist_ok=True)
    handler = logging.FileHandler(folder / FILE.format(incarnation), encoding="utf-8", delay=True)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            # The extra first: a name that it shares with the record's own is the record's.
            foreign_pre_chain=[
                structlog.stdlib.ExtraAdder(),
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                add_population,
            ],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger("arena")
    for earlier in root.handlers:
        earlier.close()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    root.propagate = False
    # A full disk must not spill the logger's own tracebacks over the display.
    logging.raiseExceptions = False


def newest_records(folder: Path, count: int) -> list[dict[str, Any]]:
    """The newest lines of all starts, oldest first and without a gap; [] where there are none.

    A line that was cut short is left out.
    """
    newest: list[dict[str, Any]] = []
    for path in _newest_first(folder):
        records, whole = last_lines(path, TAIL_BYTES)
        newest = [*records, *newest]
        # What came before is not next to what was read.
        if len(newest) >= count or not whole:
            break
    return newest[-count:]


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
