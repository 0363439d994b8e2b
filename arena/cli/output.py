"""How commands talk: results on stdout, everything else on stderr; `--json` is one line of JSON.
Also the options that many commands share.
"""

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

_WIDE = 1000

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Data directory; else $ARENA_DATA, else ./arena-data.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a value of the config, e.g. --set learning.gamma=0.98; may be given often.",
        show_default=False,
    ),
]


def print_json(value: Any) -> None:
    """One line on stdout. Numbers that JSON cannot say (nan, inf) become null."""
    print(json.dumps(speakable(value), ensure_ascii=False, allow_nan=False), flush=True)


def say(text: str) -> None:
    """A message for the person at the terminal; never part of the result."""
    print(text, file=sys.stderr, flush=True)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    spare: Sequence[str] = (),
) -> None:
    """A table on stdout. Columns whose name starts with ">" are numbers: aligned to the right, and
    never broken or cut.

    spare: columns that stay away where the screen is too narrow for all: empty ones, then the first
    of them first; a line below says which.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    # In a pipe or a file a line is a line, unless somebody asks for a width.
    room = (
        console.width if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit() else _WIDE
    )
    cells = [[str(cell) for cell in row] for row in rows]
    least = {
        name.removeprefix(">"): _least_width(name, [row[place] for row in cells])
        for place, name in enumerate(columns)
    }
    empty = {
        name.removeprefix(">")
        for place, name in enumerate(columns)
        if not any(row[place] for row in cells)
    }
    left_out: list[str] = []
    for name in sorted(spare, key=lambda name: name not in empty):
        if _table_width(least) > room:
            del least[name]
            left_out.append(name)
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown = [place for place, name in enumerate(columns) if name.removeprefix(">") in least]
    for name in (columns[place] for place in shown):
        number = name.startswith(">")
        table.add_column(
            Text(name.removeprefix(">")),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    for row in cells:
        table.add_row(*(Text(row[place]) for place in shown))
    # A terminal that is too narrow for what is left breaks the line itself, which loses nothing.
    console.width = max(room, _table_width(least))
    if title is not None:
        console.print(Text(title, style="table.title"), soft_wrap=True)
    console.print(table)
    if left_out:
        print(
            f"Left out to fit {room} columns: {', '.join(left_out)}; --json and a wider "
            f"terminal have {'it' if len(left_out) == 1 else 'them'}."
        )


def _least_width(name: str, cells: Sequence[str]) -> int:
    """Of a column: numbers take a line, text may be broken between words."""
    from rich.cells import cell_len

    if name.startswith(">"):
        return max(map(cell_len, [name.removeprefix(">"), *cells]))
    return max((cell_len(word) for cell in [name, *cells] for word in cell.split()), default=0)


def _table_width(least: Mapping[str, int]) -> int:
    """With two spaces between columns."""
    return sum(least.values()) + 2 * (len(least) - 1)


def speakable(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): speakable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [speakable(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    return value
