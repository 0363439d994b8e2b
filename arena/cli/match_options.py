"""What `arena match`, `evaluate`, `tournament` and `watch` share: options, players, progress."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from arena.cli.going_on import GoingOn
from arena.cli.output import assignments, say
from arena.matches.game_list import Progress
from arena.matches.lengths import LONGEST_MOVE_S, MOST_SEED
from arena.python.players import NamedPlayers, named_players
from arena.words import number_of
from pbt.config.load import options_from

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
    int, typer.Option(min=0, max=MOST_SEED, help="The seed of everything random.")
]
OptionsOption = Annotated[
    list[str] | None,
    assignments(
        "--set",
        "An option of the game that --env names, as in a config's env.options; may be "
        "repeated. A trained player brings the options of its game.",
    ),
]
MoveTimeoutOption = Annotated[
    float,
    typer.Option(
        "--move-timeout",
        min=0.001,
        max=LONGEST_MOVE_S,
        metavar="SECONDS",
        help="How long a program may take for one move; a slower program forfeits the game.",
    ),
]
ObjectiveOption = Annotated[
    str | None,
    typer.Option(
        "--objective",
        metavar="win|margin|return",
        help="What decides between the players, instead of what their populations count in.",
        show_default=False,
    ),
]
GreedyOption = Annotated[
    bool, typer.Option("--greedy", help="Play the most likely action instead of a sampled one.")
]


def players_named(
    names: Sequence[str],
    data: Path | None,
    env: str | None,
    options: Sequence[str] | None,
    move_timeout_s: float,
    objective: str | None = None,
) -> NamedPlayers:
    """The game and the players of a command line.

    options    as typed behind --set
    objective  as typed behind --objective
    Raises: as `arena.python.players.named_players`.
    """
    return named_players(
        names,
        data=data,
        env=env,
        options=options_from(options or ()),
        objective=objective,
        move_timeout_s=move_timeout_s,
    )


def exit_spoiled(errors: int, of: str) -> NoReturn:
    """Say that too many games raised an error, and exit. of: how many were planned: "400 games"."""
    say(
        f"error: the game raised an error {errors} times in {of}, more than 1 %: do not trust the "
        "numbers; fix the game, or what ends its engines"
    )
    raise typer.Exit(SPOILED)


@contextmanager
def progress_bar(title: str, counted: str = "game") -> Iterator[Progress]:
    """Show a progress bar on stderr, and where that is no terminal a line now and then.

    counted  what one of them is called
    """
    if not sys.stderr.isatty():
        told = [f"no {counted} over yet"]

        def note(done: int, planned: int) -> None:
            told[0] = f"{done} of {number_of(planned, counted)}"

        with GoingOn(lambda: f"{title}: {told[0]}"):
            yield note
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
    with Bar(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(escape(title), total=None)
        yield lambda done, planned: bar.update(task, completed=done, total=planned)
