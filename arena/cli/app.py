"""The program `arena`: it finds the command, runs it and turns errors into messages and exit codes.

A command's module is imported only when that command is called, so `arena --help` never waits
for torch. The table of commands is `arena.cli.commands`.
"""

import gc
import importlib
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from arena.cli.commands import COMMANDS, Command
from arena.data.paths import data_dir
from arena.standard_streams import lead_nowhere, secure_streams
from pbt.errors import PbtError, of_the_machine, refused_place

PROGRAM = "arena"
INTERRUPTED = 130


class LazyGroup(TyperGroup):
    """The group `arena`: it lists every command from the table without importing its module.

    The module of a command is imported when that command is called.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in COMMANDS:
            self.add_command(
                TyperCommand(command.name, help=command.help, rich_help_panel=command.panel)
            )

    # Typer's vendored Context is the public one.
    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return [command.name for command in COMMANDS]

    # The same.
    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        for command in COMMANDS:
            if args and command.name == args[0]:
                self.add_command(load_command(command), command.name)
        return super().resolve_command(ctx, args)


def load_command(command: Command) -> Any:
    """Import the command's module and build its Typer command."""
    module, _, attribute = command.target.partition(":")
    with _no_garbage_collected():
        target = getattr(importlib.import_module(module), attribute)
    if isinstance(target, typer.Typer):
        loaded: Any = get_group(target)
    else:
        single = typer.Typer(add_completion=False, rich_markup_mode="rich")
        single.command(command.name, epilog=f"Example: {command.example}")(target)
        loaded = get_command(single)
    loaded.name = command.name
    return loaded


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Modules stay: looking through them for garbage while they load is a tenth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


app = typer.Typer(
    cls=LazyGroup,
    name=PROGRAM,
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Train populations of policies by self-play, and measure how strong they are.",
    epilog=(
        "First steps: [bold]arena demo[/bold]. Data is kept in the folder that --data names, "
        "else in $ARENA_DATA, else in ./arena-data."
    ),
)


def _print_version(requested: bool) -> None:
    if requested:
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


def run(arguments: Sequence[str], on_error: Callable[[PbtError], None] | None = None) -> int:
    """Run one command line and return its exit code.

    on_error: called with an error of ours that ends the command.
    An error becomes one message on standard error. The code is 2 when the user's input is wrong,
    and 1 for most other errors.
    """
    try:
        get_command(app)(args=list(arguments), prog_name=PROGRAM)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except PbtError as error:
        print(f"error: {error}", file=sys.stderr)
        if on_error is not None:
            on_error(error)
        return error.exit_code
    except OSError as error:
        return _report_place(error) if of_the_machine(error) else _report_bug(error)
    except Exception as error:  # noqa: BLE001  the last resort: one line here, all in a file
        return _report_bug(error)
    return 0


def _report_place(error: OSError) -> int:
    print(f"error: {refused_place(error)}", file=sys.stderr)
    return 1


def _report_bug(error: Exception) -> int:
    if os.environ.get("ARENA_DEBUG"):
        traceback.print_exception(error)
        return 1
    reason = str(error).partition("\n")[0]
    said = f"error: unexpected {type(error).__name__}: {reason}; the traceback is"
    if (path := _write_traceback(error)) is None:
        print(said, "below, since no folder takes it:", file=sys.stderr)
        traceback.print_exception(error)
    else:
        print(said, f"in {path} (ARENA_DEBUG=1 prints it)", file=sys.stderr)
    return 1


def _write_traceback(error: Exception) -> Path | None:
    """Write it to the data directory where there is one, else to the system's temporary folder.

    None where neither takes it.
    """
    data = data_dir()
    lines = traceback.format_exception(error)
    text = f"{' '.join(sys.argv)}\n{''.join(lines)}"
    name = f"arena-crash-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
    for folder in (data / "logs" if data.is_dir() else None, Path(tempfile.gettempdir())):
        if folder is not None:
            with suppress(OSError):
                folder.mkdir(exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8", errors="replace")
                return folder / name
    return None


def use_all_handles() -> None:
    """Let this process and its children open as many files as the system allows (the hard limit).

    A shell often begins with 1,024, which a few hundred tables of an engine each use up.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """One command line from the start of the process to its end."""
    # Ratings are small linear algebra: threads that wait for each other, or for a core that a
    # training uses, cost more than they gain.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    secure_streams()
    use_all_handles()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        code = code or _report_place(error)
        lead_nowhere(sys.stdout.fileno())  # what is left in the buffer has no other place
    sys.exit(code)
