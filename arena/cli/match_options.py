"""What `arena match` and `arena evaluate` share: options, exit codes, the bar."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from arena.cli.output import say
from arena.matches.game_list import Progress

SPOILED = 4

NAMES = (
    "random, oneply, demo/m2, demo/m2@1.2M, demo@best, a snapshot id, or a program: exec:./bot.py."
)
EnvOption = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="NAME",
        help="The game; needed where no player was trained.",
        show_default=False,
    ),
]
SeedOption = Annotated[
    int, typer.Option(min=0, max=2**31 - 1, help="Everything random follows from it.")
]
OptionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help=(
            "An option of the game that --env names, as in a config's env.options; may be "
            "given often. A trained player brings its own."
        ),
        show_default=False,
    ),
]
MoveTimeoutOption = Annotated[
    float,
    typer.Option(
        "--move-timeout",
        min=0.001,
        metavar="SECONDS",
        help="For one answer of a program; a later one forfeits the game.",
    ),
]
GreedyOption = Annotated[
    bool, typer.Option("--greedy", help="Most likely actions instead of sampled ones.")
]


def say_spoiled(errors: int, of: str) -> None:
    """of: such as "400 games"."""
    say(
        f"error: the game raised in {errors} tries of {of}, more than 1 %: do not trust the "
        "numbers; fix the game, or what ends its engines"
    )


@contextmanager
def progress_bar(title: str) -> Iterator[Progress | None]:
    """A bar on stderr, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(title), total=None)
        yield lambda done, planned: bar.update(task, completed=done, total=planned)
