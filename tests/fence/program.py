"""The command line inside this process, found as an installation finds it: by pyproject.toml."""

import io
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from typer.core import TyperGroup

import arena

ROOT = Path(arena.__file__).resolve().parent.parent
"""The tree whose program this is."""


class Done(NamedTuple):
    """How a call of the command line ended."""

    code: int
    out: str
    said: str


def project() -> dict[str, Any]:
    """The table [project] of pyproject.toml."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def main() -> Callable[[], None]:
    """What the console script `arena` calls."""
    module, _, attribute = project()["scripts"]["arena"].partition(":")
    called: Callable[[], None] = getattr(import_module(module), attribute)
    return called


def call(*words: str) -> Done:
    """Call the command line."""
    out, said = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["arena", *words]), redirect_stdout(out), redirect_stderr(said):
        try:
            main()()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    return Done(code, out.getvalue(), said.getvalue())


def options() -> set[str]:
    """Every command with its options and the number of its arguments, groups included."""
    caught: list[Any] = []

    def catch(command: Any, *args: object, **more: object) -> None:
        caught.append(command)
        raise SystemExit

    with patch.object(TyperGroup, "main", catch):
        call()
    return set(_walk(caught[0], ()))


def _walk(command: Any, name: Sequence[str]) -> Iterator[str]:
    called = " ".join(("arena", *name))
    yield called
    arguments = 0
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            arguments += 1
            yield f"{called} <argument {arguments}>"
        elif not parameter.hidden:
            yield from (f"{called} {word}" for word in (*parameter.opts, *parameter.secondary_opts))
    if isinstance(command, TyperGroup):
        context = command.make_context("arena", [*name, "--help"], resilient_parsing=True)
        for word in command.list_commands(context):
            _, found, _ = command.resolve_command(context, [word])
            yield from _walk(found, (*name, word))


def json_commands(every: set[str]) -> set[str]:
    """Those that take `--json`."""
    return {re.sub(" --json$", "", word) for word in every if word.endswith(" --json")}
