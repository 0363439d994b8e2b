"""`arena metrics`: the training curves and the telemetry of a population."""

import sys
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Annotated, TextIO

import typer

from arena.cli.output import DataOption, JsonOption, NameArgument, print_json, print_table, say
from arena.data.metrics import MetricsRow, metrics_csv, read_metrics
from arena.data.paths import data_dir, league_path, population_paths
from arena.data.telemetry import telemetry_csv
from arena.league.database import open_league
from arena.league.frames import frames_text
from arena.league.populations import stored_config
from arena.words import number_of
from pbt.errors import ConfigError
from pbt.files import write_whole

CsvOption = Annotated[bool, typer.Option("--csv", help="Print every point of every curve as CSV.")]
TelemetryOption = Annotated[
    bool,
    typer.Option(
        "--telemetry", help="Print where the time of its processes went, as CSV, instead."
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write the CSV there instead of to stdout.", show_default=False
    ),
]


def metrics(
    name: NameArgument,
    as_csv: CsvOption = False,
    telemetry: TelemetryOption = False,
    out: OutOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the newest values of every member's training curves, or all points as CSV.

    This works while the training runs.
    """
    if (as_csv or telemetry) and as_json:
        raise ConfigError(
            "arena metrics", [f"{'--csv' if as_csv else '--telemetry'} and --json: choose one"]
        )
    if out is not None and not (as_csv or telemetry):
        raise ConfigError("arena metrics", [f"--out {out}: only the CSV goes to a file; add --csv"])
    folder = data_dir(data)
    with open_league(league_path(folder), read_only=True) as opened:
        stored_config(opened, name)
    curves = population_paths(folder, name).metrics
    if as_csv or telemetry:
        _write_csv(partial(telemetry_csv if telemetry else metrics_csv, curves), out)
        return
    newest: dict[str, MetricsRow] = {row.member: row for row in read_metrics(curves)}
    if as_json:
        print_json(
            [
                {"member": row.member, "frames": row.frames, "t": row.t, "values": row.values}
                for row in newest.values()
            ]
        )
    elif not newest:
        print(f"population {name}: no curves yet; the first points come with the first updates")
    else:
        _print_newest(newest)


def _write_csv(write: Callable[[TextIO], int], out: Path | None) -> None:
    if out is None:
        write(sys.stdout)
        return
    text = StringIO(newline="")
    rows = write(text)
    try:
        write_whole(out, text.getvalue())
    except OSError as error:
        raise ConfigError(
            "arena metrics",
            [f"--out {out}: {error.strerror}; name a file in a folder that you may write to"],
        ) from error
    say(f"{number_of(rows, 'row')} in {out}")


def _print_newest(newest: dict[str, MetricsRow]) -> None:
    """Print a table with one column per member, because there are more values than members."""
    members = sorted(newest)
    names = sorted({name for row in newest.values() for name in row.values})
    rows = [("frames", *(frames_text(newest[member].frames) for member in members))]
    for name in names:
        values = [newest[member].values.get(name) for member in members]
        rows.append((name, *("-" if value is None else f"{value:.4g}" for value in values)))
    print_table(("newest value", *(f">{member}" for member in members)), rows)
