"""What `arena match`, `evaluate`, `tournament` and `watch` share: options, exit code, progress."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from arena.cli.output import say
from arena.matches.game_list import Progress

# The exit code when the game raised an error in too many games.
SPOILED = 4

NAMES = (
    "random, oneply, demo/m2, demo/m2@1.2M, demo@best, a snapshot id, or a program: exec:./bot.py."
)
EnvOption = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="NAME",
        help="The game; needed only when none of the players was trained.",
        show_default=False,
    ),
]
SeedOption = Annotated[
    int, typer.Option(min=0, max=2**31 - 1, help="The seed of everything random.")
]
OptionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help=(
            "An option of the game that --env names, as in a config's env.options; may be "
            "repeated. A trained player brings the options of its game."
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
        help="How long a program may take for one move; a slower program forfeits the game.",
    ),
]
GreedyOption = Annotated[
    bool, typer.Option("--greedy", help="Play the most likely action instead of a sampled one.")
]


def say_spoiled(errors: int, of: str) -> None:
    """Say that too many games raised an error. of: how many were planned, such as "400 games"."""
    say(
        f"error: the game raised an error {errors} times in {of}, more than 1 %: do not trust the "
        "numbers; fix the game, or what ends its engines"
    )


@contextmanager
def progress_bar(title: str) -> Iterator[Progress | None]:
    """Show a progress bar on stderr; yields None where stderr is no terminal."""
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
