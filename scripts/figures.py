"""Check the figures of README.md and bench/RESULTS.md against their raw files.

A figure is marked by a comment in its own line, or on a line directly before its paragraph, table
or code block:

    <!-- figure: bench/results/peers_duel.json; systems.inline.ratio.median -->

After the raw file stand any number of values, each of which the marked text must show, rounded as
the text rounds it. In a JSON file a value is a path of keys and indices, or a quotient of two paths
(`a.b / c.d`). In a text file it is a quotation, whose numbers must be shown. bench/RESULTS.md may
also say `figure: none; REASON`, where its text says "no raw file".

Run it as `python scripts/figures.py`; it exits with 1 if anything is wrong.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

README, RESULTS = "README.md", "bench/RESULTS.md"
RAW, HISTORY = "bench/results/", "bench/results/history/"

MARK = re.compile(r"<!--\s*figure:(.*?)(-->|$)")
# What a line says besides figures: comments, code, the targets of links, dates.
OTHER = re.compile(r"<!--.*?-->|`[^`]*`|\]\([^)]*\)|\d{4}-\d\d-\d\d")
NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:[ ,]\d{3})+|\d+)(?:\.\d+)?(?!\w)")


class FigureError(Exception):
    """One fault: what was found, what was expected, what to do."""

    def __init__(self, found: str, expected: str, todo: str) -> None:
        super().__init__(f"found {found}; expected {expected}; {todo}")


def shown(line: str) -> str:
    """The text of a line in which figures may stand."""
    return OTHER.sub(" ", line).strip()


def block_after(lines: list[str], start: int) -> range:
    """The lines of the block that begins at `start`: up to the next empty line or closing fence."""
    end = start
    fenced = start < len(lines) and lines[start].startswith("```")
    while end < len(lines) and (lines[end].strip() or fenced):
        end += 1
        if fenced and end > start + 1 and lines[end - 1].startswith("```"):
            break
    return range(start, end)


def is_figure_row(line: str) -> bool:
    """Whether a line is a table row that shows a number."""
    return line.startswith("|") and NUMBER.search(shown(line)) is not None


def rounds_to(number: str, value: float) -> bool:
    """Whether a number as written is the value, rounded to the places that are written."""
    whole, _, decimals = re.sub("[ ,]", "", number).partition(".")
    # "4 300" may be 4 336: a number of a thousand or more may end in zeros instead of digits.
    zeros = len(whole) - len(whole.rstrip("0")) if not decimals and len(whole) > 3 else 0
    step = 10.0 ** (zeros - len(decimals))
    return abs(float(f"{whole}.{decimals or 0}") - value) <= step / 2 * (1 + 1e-6)


def value_at(data: Any, path: str) -> float:
    """The number at a path of keys and indices, or the quotient of the numbers at two paths."""
    if " / " in path:
        above, below = path.split(" / ", 1)
        return value_at(data, above) / value_at(data, below)
    for key in path.strip().split("."):
        data = data[int(key)] if isinstance(data, list) else data[key]
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise TypeError(f"{data!r} is no number")
    return float(data)


def expected_values(file: Path, item: str) -> list[float]:
    """The numbers that one item of a mark asks for."""
    text = file.read_text(encoding="utf-8")
    todo = "write in the mark what the raw file holds"
    if file.suffix != ".json":
        if item not in " ".join(text.split()):
            raise FigureError(f'"{item}"', f"a quotation from {file.name}", todo)
        return [float(re.sub("[ ,]", "", number)) for number in NUMBER.findall(item)]
    try:
        return [value_at(json.loads(text), item)]
    except (LookupError, TypeError, ValueError, ZeroDivisionError) as error:
        found = f'"{item}" ({type(error).__name__}: {error})'
        raise FigureError(found, f"a path to a number in {file.name}", todo) from error


def check_raw_file(root: Path, name: str, tracked: set[str]) -> None:
    """Raise unless a mark's file is a raw file of today that git holds."""
    if not name.startswith(RAW) or name.startswith(HISTORY):
        expected = f"a file in {RAW} outside {HISTORY}"
        raise FigureError(name or "no name", expected, "name the file that holds the figure")
    if not (root / name).is_file():
        raise FigureError(f"no file {name}", "the raw file", "run the benchmark again, or mend it")
    if name not in tracked:
        raise FigureError(f"{name}, which git does not track", "a tracked file", "`git add` it")


def check_values(file: Path, items: list[str], text: str) -> None:
    """Raise unless the marked text shows every value that the mark names."""
    numbers = NUMBER.findall(text)
    for item in items:
        for value in expected_values(file, item):
            # A share may be shown in per cent.
            values = (value, 100 * value) if "%" in text else (value,)
            if not any(rounds_to(number, one) for number in numbers for one in values):
                expected = f'{value:g}, rounded ("{item}" in {file.name})'
                raise FigureError("no such number", expected, "show what the raw file says")


def check_mark(root: Path, page: str, parts: list[str], text: str, tracked: set[str]) -> None:
    """Raise if a mark on a page is wrong. `parts` are its raw file and its values."""
    name, *items = parts
    if not NUMBER.search(text):
        raise FigureError("a mark without a figure", "a number in its line or block", "move it")
    if name != "none":
        check_raw_file(root, name, tracked)
        check_values(root / name, items, text)
    elif page != RESULTS or not any(items) or "no raw file" not in text:
        expected = f'a raw file, or in {RESULTS} a reason and the visible words "no raw file"'
        raise FigureError('"figure: none"', expected, "name the raw file, or give the reason")


def check_page(root: Path, page: str, tracked: set[str], named: set[str]) -> Iterator[str]:
    """Yield what is wrong on one page, and add the raw files that it names to `named`."""
    lines = (root / page).read_text(encoding="utf-8").splitlines()
    covered: set[int] = set()
    for at, line in enumerate(lines):
        for mark, end in MARK.findall(line):
            span = range(at, at + 1) if shown(line) else block_after(lines, at + 1)
            covered.update(span)
            parts = [part.strip() for part in mark.split(";")]
            named.add(parts[0])
            try:
                if not end:
                    raise FigureError("an open mark", "`-->` in its line", "close it")
                text = " ".join(shown(lines[i]) for i in span)
                check_mark(root, page, parts, text, tracked)
            except FigureError as error:
                yield f"{page}:{at + 1}: {error}"
        if page == RESULTS and is_figure_row(line) and at not in covered:
            expected = "<!-- figure: FILE --> or <!-- figure: none; REASON -->"
            fault = FigureError("a row with a number and no mark", expected, "name its raw file")
            yield f"{page}:{at + 1}: {fault}"


def check(root: Path) -> list[str]:
    """Everything that is wrong with the figures of a checkout, as messages."""
    command = ["git", "-C", str(root), "ls-files", "-z", RAW]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    tracked = {name for name in listed.split("\0") if name}
    named: set[str] = set()
    found: list[str] = []
    for page in (README, RESULTS):
        found += check_page(root, page, tracked, named)
    for name in sorted(tracked - named):
        if not name.startswith(HISTORY):
            todo = f"name it in {RESULTS}, move it to {HISTORY}, or remove it"
            found.append(f"{name}: {FigureError('a raw file that no mark names', 'a mark', todo)}")
    return found


if __name__ == "__main__":
    faults = check(Path(__file__).resolve().parents[1])
    print("\n".join(faults) or "Every marked figure has its raw file.")
    sys.exit(1 if faults else 0)
