"""`arena status`: the processes and members of a running training, and where its rows went.

It needs no torch.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from arena.cli.output import DataOption, JsonOption, NameArgument, print_json, print_table
from arena.data.paths import data_dir, league_path, population_names, population_paths
from arena.data.status import (
    ENDED,
    MemberRow,
    PopulationView,
    ProcessRow,
    RunStatus,
    failures,
    look,
    look_json,
    refusals,
    updates_line,
)
from arena.data.telemetry import STAGES
from arena.standard_streams import unread
from pbt.errors import PbtError, PlayerError
from pbt.objective import OBJECTIVE_WORDS

WATCH_EVERY_S = 1.0
CLEAR = "\x1b[H\x1b[2J"
_COUNTED = ("simulate", "infer", "learn", "wait")


def status(
    name: NameArgument,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Show it again every second until the training ends, or Ctrl-C."
        ),
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every process of a training: its role, state, speed and restarts.

    Also when each process gave its last sign of life.
    """
    folder = data_dir(data)
    paths = population_paths(folder, name)
    if not paths.config.exists():
        names = ", ".join(population_names(folder)) or "none yet"
        raise PlayerError(f"no population {name!r} in {folder}; there are: {names}")
    with assessing(folder, name) as assess:
        while True:
            view, said = look(paths, name), assess()
            if as_json:
                print_json({**look_json(view), "assessment": said})
            else:
                print(CLEAR if watch and sys.stdout.isatty() else "", end="")
                print_status(view, str(paths.logs), None if said is None else said["sentence"])
            if not watch or not view.running or unread(sys.stdout):
                return
            time.sleep(WATCH_EVERY_S)


@contextmanager
def assessing(folder: Path, name: str) -> Iterator[Callable[[], dict[str, str] | None]]:
    """What gives the conclusion and the sentence of a population, None where it is not known."""
    if not league_path(folder).exists():
        yield lambda: None
        return
    # They load numpy, for which --help does not wait.
    from arena.assessment.assessor import Assessor
    from arena.cli.assessment_text import in_short
    from arena.league.database import open_league

    with open_league(league_path(folder), read_only=True) as league:
        assessor = Assessor(league, folder)

        def assess() -> dict[str, str] | None:
            try:
                return in_short(assessor.assess(name))
            except PbtError:  # its trainer has not made its row yet, or the league is busy
                return None

        yield assess


def print_status(view: PopulationView, logs: str, said: str | None = None) -> None:
    """Print the status for people.

    logs  the folder to look into when something is wrong
    said  what may be said of the population; None where it is not known
    """
    for line in headlines(view, logs):
        print(line)
    if said is not None:
        print(said)
    reported = view.status
    if reported is None or view.starting:
        return
    for warning in warning_lines(reported):
        print(warning)
    _print_processes(reported)
    number = OBJECTIVE_WORDS[reported.ranked_by].heading if reported.ranked_by else "-"
    print_table(
        ("member", ">frames", ">lag", f">{number}", "state"),
        [status_cells(row) for row in reported.members],
    )
    if (updates := updates_line(reported.members)) is not None:
        print(updates)
    rows = reported.rows
    dropped = (
        ", ".join(f"{count:,} {reason}" for reason, count in sorted(rows.dropped.items())) or "none"
    )
    print(
        f"rows: {rows.produced:,} produced, {rows.trained:,} trained, {rows.standing:,} "
        f"standing; dropped: {dropped}"
    )


def _print_processes(reported: RunStatus) -> None:
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
        [process_cells(row) for row in reported.processes],
        spare=(*(STAGES[stage] for stage in reversed(_COUNTED)), "queue", "pid"),
    )


def warning_lines(reported: RunStatus) -> list[str]:
    """What does not work as it should."""
    fault = (
        f"WIRING FAULT: {reported.wiring}; `arena rounds wiring {reported.population}` lists all"
    )
    warnings = (*refusals(reported.members), *failures(reported.members))
    return [fault] * bool(reported.wiring) + [f"WARNING: {warning}" for warning in warnings]


def headlines(view: PopulationView, logs: str) -> list[str]:
    """Whether it runs, since when, and whether the rest of the status is up to date."""
    name, reported = view.population, view.status
    if view.starting:
        return [f"{name} is starting (process {view.pid})"]
    if reported is None:
        return [f"{name} is not running; it has written no status yet"]
    if not view.running:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(reported.written_at))
        return [
            (
                f"{name} is not running: {view.state}; the rest is what was written last, at "
                f"{when}. Go on with `arena train --resume {name}`"
            )
        ]
    lines = [
        (
            f"{name} is running (process {view.pid}), placement {reported.placement}, for "
            f"{reported.ran_s:.0f} s"
        )
    ]
    if view.stale:
        stuck = (
            f"process {view.pid} is stuck, stopped, or has no disk to write to; look into {logs}"
        )
        lines.append(
            f"STALE: written {view.age_s:.0f} s ago, though it should be every second: {stuck}"
        )
    return lines


def status_cells(row: MemberRow) -> tuple[str, ...]:
    """One row of the table of members; a dash stands for what is not known yet."""
    lag = "-" if row.lag is None else f"{row.lag:.2f}"
    ranked = "-" if row.ranked is None else f"{row.ranked:.4g}"
    return (row.name, f"{row.frames:,}", lag, ranked, row.state)


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
        "-" if row.state == ENDED else f"{row.beat_age_s:.1f} s ago",
        *counted,
    )
