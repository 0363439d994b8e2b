"""How commands talk: results on stdout, everything else on stderr; `--json` is one line of JSON. Also the options that many commands share."""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

_WIDE = 1000

DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Data directory; else $ARENA_DATA, else ./arena-data.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override a value of the config, e.g. --set learning.gamma=0.98; may be given often.", show_default=False
    ),
]


def print_json(value: Any) -> None:
    """One line on stdout. Numbers that JSON cannot say (nan, inf) become null."""
    print(json.dumps(speakable(value), ensure_ascii=False, allow_nan=False), flush=True)


def say(text: str) -> None:
    """A message for the person at the terminal; never part of the result."""
    print(text, file=sys.stderr, flush=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """A table on stdout. Columns whose name starts with ">" are aligned to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(Text(column.removeprefix(">")), justify="right" if column.startswith(">") else "left")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    # In a pipe or a file a line is a line.
    Console(width=None if sys.stdout.isatty() else _WIDE).print(table)


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
