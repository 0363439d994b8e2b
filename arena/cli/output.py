"""How commands print: results on stdout, everything else on stderr; `--json` is one line of JSON.

Also the arguments and options that many commands share.
"""

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

MOST_ROWS = 10**9
"""Of a list that is printed."""
_WIDE = 1000

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The population's name.")]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="The data directory; without it, $ARENA_DATA, else ./arena-data.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one line of JSON instead.")]


def assignments(flag: str, text: str) -> Any:
    """An option that takes KEY=VALUE, as often as it is given. text: what its help says."""
    return typer.Option(flag, metavar="KEY=VALUE", help=text, show_default=False)


SetOption = Annotated[
    list[str] | None,
    assignments(
        "--set",
        "Override a value of the config, e.g. --set learning.gamma=0.98; may be repeated.",
    ),
]

StartOption = Annotated[bool, typer.Option("--start", help="Start training it at once.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Check it and tell what it does, but change nothing.")
]


def print_json(value: Any) -> None:
    """Print one line on stdout. Numbers that JSON does not have (nan, inf) become null."""
    plain = (sys.stdout.encoding or "utf-8").lower() != "utf-8"
    print(json.dumps(speakable(value), ensure_ascii=plain, allow_nan=False), flush=True)


def say(text: str) -> None:
    """Print a message for the person at the terminal; it is never part of the result."""
    print(text, file=sys.stderr, flush=True)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    spare: Sequence[str] = (),
) -> None:
    """Print a table on stdout.

    A column whose name starts with ">" holds numbers: it is aligned to the right, and never broken
    or cut.

    title  a line above the table
    spare  columns that are left out where the screen is too narrow for all: empty ones first, then
           in the order given; a line below the table names them
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    # In a pipe or a file no line is broken, unless the caller asks for a width in COLUMNS.
    room = (
        console.width if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit() else _WIDE
    )
    cells = [[str(cell) for cell in row] for row in rows]
    least, left_out = _fitting_columns(columns, cells, spare, room)
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
    # A terminal that is too narrow for the rest breaks the line itself, which loses nothing.
    console.width = max(room, _table_width(least))
    if title is not None:
        console.print(Text(title, style="table.title"), soft_wrap=True)
    console.print(table)
    if left_out:
        print(
            f"Left out to fit {room} columns: {', '.join(left_out)}; --json and a wider "
            f"terminal have {'it' if len(left_out) == 1 else 'them'}."
        )


def _fitting_columns(
    columns: Sequence[str], cells: Sequence[Sequence[str]], spare: Sequence[str], room: int
) -> tuple[dict[str, int], list[str]]:
    """(least width of every column that is shown, names of the columns that are left out)."""
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
    return least, left_out


def _least_width(name: str, cells: Sequence[str]) -> int:
    """The width a column needs: numbers must fit on one line, text may be broken between words."""
    from rich.cells import cell_len

    if name.startswith(">"):
        return max(map(cell_len, [name.removeprefix(">"), *cells]))
    return max((cell_len(word) for cell in [name, *cells] for word in cell.split()), default=0)


def _table_width(least: Mapping[str, int]) -> int:
    """The width of a table, with two spaces between columns."""
    return sum(least.values()) + 2 * (len(least) - 1)


def speakable(value: Any) -> Any:
    """The value in types that JSON has: nan and infinities become None, paths become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): speakable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [speakable(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    return value
