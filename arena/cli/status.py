"""`arena status`: every process of a running training, every member, where the rows went. Needs
no torch.
"""

import sys
import time
from typing import Annotated

import typer

from arena.cli.output import DataOption, JsonOption, print_json, print_table
from arena.data.paths import data_dir, population_names, population_paths
from arena.data.status import PopulationView, ProcessRow, look, look_json
from arena.data.telemetry import STAGES
from pbt.errors import PlayerError

WATCH_EVERY_S = 1.0
CLEAR = "\x1b[H\x1b[2J"
_COUNTED = ("simulate", "infer", "learn", "wait")


def status(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The population's name.")],
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="PopulationView every second until the training ends, or Ctrl-C."
        ),
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """What every process of a training does: role, state, speed, restarts, and when it last gave
    a sign of life.
    """
    folder = data_dir(data)
    paths = population_paths(folder, name)
    if not paths.config.exists():
        there = ", ".join(population_names(folder)) or "none yet"
        raise PlayerError(f"no population {name!r} in {folder}; there are: {there}")
    while True:
        seen = look(paths, name)
        if as_json:
            print_json(look_json(seen))
        else:
            print(CLEAR if watch and sys.stdout.isatty() else "", end="")
            print_status(seen, str(paths.logs))
        if not watch or not seen.running:
            return
        time.sleep(WATCH_EVERY_S)


def print_status(seen: PopulationView, logs: str) -> None:
    """For people. logs: where to look when something is wrong."""
    for line in headlines(seen, logs):
        print(line)
    found = seen.status
    if found is None or seen.starting:
        return
    columns = (
        "process",
        ">pid",
        "hosts",
        "state",
        ">rows/s",
        ">queue",
        ">restarts",
        ">sign of life",
        *(f">{STAGES[stage]}" for stage in _COUNTED),
    )
    print_table(
        columns,
        [process_cells(row) for row in found.processes],
        spare=(*(STAGES[stage] for stage in reversed(_COUNTED)), "queue", "pid"),
    )
    print_table(
        ("member", ">frames", ">lag", "state"),
        [
            (row.name, f"{row.frames:,}", "-" if row.lag is None else f"{row.lag:.2f}", row.state)
            for row in found.members
        ],
    )
    rows = found.rows
    dropped = (
        ", ".join(f"{count:,} {reason}" for reason, count in sorted(rows.dropped.items())) or "none"
    )
    print(
        f"rows: {rows.produced:,} produced, {rows.trained:,} trained, {rows.standing:,} "
        f"standing; dropped: {dropped}"
    )


def headlines(seen: PopulationView, logs: str) -> list[str]:
    """Is it running, since when, and can what follows be believed?"""
    name, found = seen.population, seen.status
    if seen.starting:
        return [f"{name} is starting (process {seen.pid})"]
    if found is None:
        return [f"{name} is not running; it has written no status yet"]
    if not seen.running:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.written_at))
        return [
            (
                f"{name} is not running: {seen.state}; the rest is what was written last, at "
                f"{when}. Go on with `arena train --resume {name}`"
            )
        ]
    lines = [
        (
            f"{name} is running (process {seen.pid}), placement {found.placement}, for "
            f"{found.written_at - found.started_at:.0f} s"
        )
    ]
    if seen.stale:
        stuck = (
            f"process {seen.pid} is stuck, stopped, or has no disk to write to; look into {logs}"
        )
        lines.append(
            f"STALE: written {seen.age_s:.0f} s ago, though it should be every second: {stuck}"
        )
    return lines


def process_cells(row: ProcessRow) -> tuple[str, ...]:
    shares = row.shares
    counted = (f"{shares[stage]:.0%}" if stage in shares else "-" for stage in _COUNTED)
    return (
        row.name,
        str(row.pid),
        ", ".join(row.roles),
        row.state,
        f"{row.rate:,.0f}",
        str(row.queue),
        str(row.restarts),
        f"{row.beat_age_s:.1f} s ago",
        *counted,
    )
