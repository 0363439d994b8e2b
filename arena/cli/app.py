"""The command line: a table of commands, each loaded only when it is called, so `arena --help`
never waits for torch.

A new command is one row of COMMANDS. Its target is either a function (one command, its parameters
described by Typer's annotations) or a `typer.Typer` (a group of commands, like `arena config
show`).
"""

import errno
import importlib
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from arena.data.paths import data_dir
from pbt.errors import PbtError

PROGRAM = "arena"
INTERRUPTED = 130
# As of a program that SIGPIPE ended: whoever read the output went away, as `head` does.
UNREAD = 141
# Files that cannot be written are no fault of the program.
_OF_THE_MACHINE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.ENOTDIR,
)


@dataclass(frozen=True)
class Command:
    """name as typed; target "module:attribute"; panel and summary as `--help` shows them;
    example: one line to copy.
    """

    name: str
    target: str
    panel: str
    summary: str
    example: str

    @property
    def help(self) -> str:
        return f"{self.summary} [dim]{self.example}[/dim]"


TRAIN, SERVE, COMPARE, LOOK, KEEP, SET_UP = (
    "Train",
    "Serve",
    "Compare",
    "Look",
    "Keep house",
    "Set up",
)

COMMANDS = (
    Command(
        "demo",
        "arena.cli.train:demo",
        TRAIN,
        "Train a small population in minutes and show what it learned.",
        "arena demo",
    ),
    Command(
        "train",
        "arena.cli.train:train",
        TRAIN,
        "Train a population, or resume one.",
        "arena train connect_four --name first",
    ),
    Command(
        "stop",
        "arena.cli.train:stop",
        TRAIN,
        "Ask a running training to save and stop.",
        "arena stop first",
    ),
    Command(
        "serve",
        "arena.cli.serve:serve",
        SERVE,
        "Train and watch populations over REST.",
        "arena serve",
    ),
    Command(
        "population",
        "arena.cli.population:app",
        SERVE,
        "What the service trains.",
        "arena population create connect_four --start",
    ),
    Command(
        "open",
        "arena.cli.serve:open_page",
        SERVE,
        "Open the service's page, logged in.",
        "arena open",
    ),
    Command(
        "match",
        "arena.cli.match:match",
        COMPARE,
        "Play players against each other.",
        "arena match first@best random --games 400",
    ),
    Command(
        "evaluate",
        "arena.cli.evaluate:evaluate",
        COMPARE,
        "Returns of one player over episodes.",
        "arena evaluate first@best --episodes 100",
    ),
    Command(
        "compare",
        "arena.cli.compare:command",
        COMPARE,
        "Which of two configs trains the stronger players, over seeds.",
        "arena compare a.toml b.toml --seeds 3 --frames 1_000_000",
    ),
    Command(
        "tournament",
        "arena.cli.tournament:tournament",
        COMPARE,
        "Everybody plays everybody.",
        "arena tournament first@best oneply random",
    ),
    Command(
        "league", "arena.cli.league:league", COMPARE, "The rating table.", "arena league first"
    ),
    Command(
        "matrix",
        "arena.cli.matrix:matrix",
        COMPARE,
        "Everybody against everybody.",
        "arena matrix first",
    ),
    Command(
        "status",
        "arena.cli.status:status",
        LOOK,
        "Every process of a running training.",
        "arena status first",
    ),
    Command(
        "populations",
        "arena.cli.league:populations",
        LOOK,
        "What has been trained, and how large it is.",
        "arena populations",
    ),
    Command(
        "lineage",
        "arena.cli.lineage:lineage",
        LOOK,
        "Where a policy comes from, as a schedule, too.",
        "arena lineage first@best",
    ),
    Command(
        "replay",
        "arena.cli.replay:replay",
        LOOK,
        "A stored game, move by move.",
        "arena replay first:1234",
    ),
    Command(
        "watch",
        "arena.cli.watch:watch",
        LOOK,
        "A video of what players of Doom see.",
        "arena watch duel@best duel/m1 --out duel.mp4",
    ),
    Command(
        "films",
        "arena.cli.films:films",
        LOOK,
        "Games that were filmed while it trained.",
        "arena films duel",
    ),
    Command(
        "metrics",
        "arena.cli.league:metrics",
        LOOK,
        "Training curves of a population.",
        "arena metrics first --csv",
    ),
    Command("games", "arena.cli.league:games", LOOK, "Its games.", "arena games first --csv"),
    Command(
        "rounds",
        "arena.cli.rounds:app",
        LOOK,
        "PBT rounds: list them, or prove them from the stored rows.",
        "arena rounds verify first",
    ),
    Command(
        "anchor",
        "arena.cli.league:anchor",
        KEEP,
        "Keep a snapshot's weights for ever.",
        "arena anchor first/m2@1.2M",
    ),
    Command(
        "export",
        "arena.cli.exchange:export",
        KEEP,
        "A snapshot as a file, for other leagues.",
        "arena export first@best --out b.safetensors",
    ),
    Command(
        "import",
        "arena.cli.exchange:import_",
        KEEP,
        "A snapshot from another league, as a player.",
        "arena import b.safetensors",
    ),
    Command(
        "delete",
        "arena.cli.league:delete",
        KEEP,
        "Remove a population.",
        "arena delete first --dry-run",
    ),
    Command(
        "env",
        "arena.cli.env:app",
        SET_UP,
        "Games: list them, or check one of your own.",
        "arena env check ./my_game.py:make",
    ),
    Command(
        "config",
        "arena.cli.config:app",
        SET_UP,
        "Configs: resolved values, schema.",
        "arena config show connect_four",
    ),
    Command(
        "doctor",
        "arena.cli.doctor:doctor",
        SET_UP,
        "Is this machine fit for training?",
        "arena doctor",
    ),
)


class LazyGroup(TyperGroup):
    """Lists every command from the table; imports a command's module only when that command is
    called.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in COMMANDS:
            self.add_command(
                TyperCommand(command.name, help=command.help, rich_help_panel=command.panel)
            )

    # typer's vendored Context is the public one
    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return [command.name for command in COMMANDS]

    # as above
    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        for command in COMMANDS:
            if args and command.name == args[0]:
                self.add_command(load_command(command), command.name)
        return super().resolve_command(ctx, args)


def load_command(command: Command) -> Any:
    """Import the command's module and make its Typer command."""
    module, _, attribute = command.target.partition(":")
    target = getattr(importlib.import_module(module), attribute)
    if isinstance(target, typer.Typer):
        loaded: Any = get_group(target)
    else:
        single = typer.Typer(add_completion=False, rich_markup_mode="rich")
        single.command(command.name, epilog=f"Example: {command.example}")(target)
        loaded = get_command(single)
    loaded.name = command.name
    return loaded


app = typer.Typer(
    cls=LazyGroup,
    name=PROGRAM,
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Train populations of policies by self-play, and know how good they are.",
    epilog=(
        "First steps: [bold]arena demo[/bold]. Data lies in ./arena-data, in $ARENA_DATA, "
        "or where --data says."
    ),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pbt import __version__

        print(f"pbt-arena {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """One call of the command line; returns the exit code. Errors become one message on stderr: 2
    for what the user typed, else mostly 1.
    """
    try:
        get_command(app)(args=list(arguments), prog_name=PROGRAM)
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):
            return UNREAD
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except PbtError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        if error.errno not in _OF_THE_MACHINE:
            return _report_bug(error)
        where = "" if error.filename is None else f"{error.filename}: "
        print(
            (
                f"error: {where}{error.strerror}; expected a place that you may write to, on a "
                "disk with room"
            ),
            file=sys.stderr,
        )
        return 1
    except Exception as error:  # noqa: BLE001  # the last line of defence: a person gets one line, the log gets everything
        return _report_bug(error)
    return 0


def _report_bug(error: Exception) -> int:
    if os.environ.get("ARENA_DEBUG"):
        traceback.print_exception(error)
        return 1
    reason = str(error).partition("\n")[0]
    print(
        (
            f"error: unexpected {type(error).__name__}: {reason}; the traceback is in "
            f"{_write_traceback(error)} (ARENA_DEBUG=1 prints it)"
        ),
        file=sys.stderr,
    )
    return 1


def _write_traceback(error: Exception) -> Path:
    """Into the data directory where there is one, else into the system's temporary folder."""
    data = data_dir()
    folder = (
        data / "logs" if data.is_dir() and os.access(data, os.W_OK) else Path(tempfile.gettempdir())
    )
    folder.mkdir(exist_ok=True)
    path = folder / f"arena-crash-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
    lines = traceback.format_exception(error)
    path.write_text(f"{' '.join(sys.argv)}\n{''.join(lines)}", encoding="utf-8")
    return path


def main() -> None:
    """The console script."""
    # Ratings are small linear algebra: threads that wait for each other, or for a core that is
    # training, cost more than they gain.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = UNREAD
    if code == UNREAD:
        # What is left in the buffer has no reader, and is not to be complained of at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
