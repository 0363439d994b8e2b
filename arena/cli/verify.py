"""`arena verify`: whether the stored rows and files are those that were committed."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from arena.cli.going_on import GoingOn
from arena.cli.output import DataOption, JsonOption, print_json
from arena.data.paths import IMPORTED, data_dir
from arena.verification.report import (
    Observer,
    VerifyError,
    VerifyReport,
    VerifyRequest,
    checked_head,
    report_json,
    report_lines,
)

_MATCH = re.compile(r"match:(\d{1,18})")


WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help='A population; "match:12", a match; or "imported", the imported snapshots.',
    ),
]
HeadOption = Annotated[
    str | None,
    typer.Option(
        metavar="HEX",
        help=(
            "A head of its chain that was published elsewhere, such as at the end of the "
            "training. The chain must be a continuation of it."
        ),
        show_default=False,
    ),
]
ReplayOption = Annotated[
    str,
    typer.Option(
        metavar="N|all|none",
        help="How many evaluation games, or games of a match, are played again.",
    ),
]


def verify(
    name: WhatArgument,
    head: HeadOption = None,
    replay: ReplayOption = "all",
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Verify a population, a match or the imports: every row, decision, file and game.

    Rows are compared with the chain of digests, rounds are decided again, evaluation games and
    games of matches are played again, and weights are hashed. Exit with 1 if anything differs.
    """
    request = VerifyRequest(None if head is None else checked_head(head), _games(replay))
    with _progress(name) as observe:
        report = verified(data_dir(data), name, request, observe)
    if as_json:
        print_json(report_json(report))
    else:
        print("\n".join(report_lines(report)))
    if not report.ok:
        raise typer.Exit(1)


def verified(data: Path, name: str, request: VerifyRequest, observe: Observer) -> VerifyReport:
    """Verify what the name says. Raises: PlayerError, MatchError and VerifyError."""
    if name == IMPORTED:
        from arena.verification.imports import verify_imports

        return verify_imports(data, request, observe)
    if match := _MATCH.fullmatch(name):
        from arena.verification.match import verify_match

        return verify_match(data, int(match[1]), request, observe)
    from arena.verification.population import verify_population

    return verify_population(data, name, request, observe)


def _games(text: str) -> int | None:
    """The value of --replay: a number of games, None for all. Raises: VerifyError."""
    if text in ("all", "none"):
        return None if text == "all" else 0
    if not text.isdecimal():
        raise VerifyError(f'--replay {text}: expected a number of games, "all" or "none"')
    return int(text)


@contextmanager
def _progress(name: str) -> Iterator[Observer]:
    """Yield an observer that draws bars, which are wiped at the end.

    Where standard error is no terminal, a line now and then.
    """
    if not sys.stderr.isatty():
        told = ["it begins"]

        def note(what: str, done: int, total: int | None) -> None:
            told[0] = f"{what}, {done}" + ("" if total is None else f" of {total}")

        with GoingOn(lambda: f"verifying {name}: {told[0]}"):
            yield note
        return
    from rich.console import Console
    from rich.progress import Progress, TaskID

    console = Console(file=sys.stderr)
    with Progress(console=console, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def observe(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=None)
            progress.update(tasks[what], completed=done, total=total)

        yield observe
