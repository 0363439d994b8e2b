"""A training's log: what stands in a line, and which lines are the newest."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.data.logs import TAIL_BYTES, log_to, newest_records

log = logging.getLogger("arena.test")


@pytest.fixture(autouse=True)
def arena_logger() -> Iterator[None]:
    """As it was, afterwards."""
    root = logging.getLogger("arena")
    before = root.handlers, root.level, root.propagate
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers, root.level, root.propagate = before


def test_a_line_is_an_object_with_the_population(tmp_path: Path) -> None:
    log_to(tmp_path, "first", 3)
    log.info("copied %s", "m1", extra={"kind": "copy", "member": "m0", "frames": 2000})
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        log.error("training ended by %s", "ValueError", exc_info=error)
    copied, ended = [
        json.loads(line) for line in (tmp_path / "train-3.jsonl").read_text().splitlines()
    ]
    assert copied.pop("timestamp").endswith("Z")
    assert copied == {
        "level": "info",
        "logger": "arena.test",
        "population": "first",
        "event": "copied m1",
        "kind": "copy",
        "member": "m0",
        "frames": 2000,
    }
    assert ended["level"] == "error" and ended["exception"].endswith("ValueError: two\nlines")


def test_the_newest_are_those_of_the_last_starts(tmp_path: Path) -> None:
    for start in (2, 9, 10):
        log_to(tmp_path, "first", start)
        for number in range(3):
            log.info("%d.%d", start, number)
    (tmp_path / "train-x.jsonl").write_text('{"event": "another file"}\n')
    with (tmp_path / "train-10.jsonl").open("a") as file:
        file.write('{"event": "cut sho')
    events = [record["event"] for record in newest_records(tmp_path, 5)]
    assert events == ["9.1", "9.2", "10.0", "10.1", "10.2"]
    assert len(newest_records(tmp_path, 100)) == 9 and newest_records(tmp_path / "none", 5) == []


def test_of_a_long_file_the_end_is_read(tmp_path: Path) -> None:
    lines = [
        json.dumps({"event": f"{number} {'x' * 1000}"}) for number in range(2 * TAIL_BYTES // 1000)
    ]
    (tmp_path / "train-1.jsonl").write_text("\n".join(lines) + "\n")
    found = newest_records(tmp_path, 10_000)
    assert 200 < len(found) < len(lines) and found[-1] == json.loads(lines[-1])


def test_between_two_starts_nothing_is_left_out(tmp_path: Path) -> None:
    """Of the older file nothing follows on the end that was read of the newer one."""
    lines = [
        json.dumps({"event": "x" * 1000, "number": number})
        for number in range(2 * TAIL_BYTES // 1000)
    ]
    (tmp_path / "train-1.jsonl").write_text(json.dumps({"event": "older"}) + "\n")
    (tmp_path / "train-2.jsonl").write_text("\n".join(lines) + "\n")
    numbers = [record.get("number") for record in newest_records(tmp_path, 100_000)]
    assert None not in numbers and numbers == list(range(numbers[0], len(lines)))


def test_half_a_character_loses_no_line(tmp_path: Path) -> None:
    log_to(tmp_path, "first", 1)
    log.info("\ud800", extra={"level": "of its own"})
    (found,) = newest_records(tmp_path, 1)
    assert (found["event"], found["level"]) == ("\ud800", "info")
