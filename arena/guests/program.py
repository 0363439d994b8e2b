"""The program of a guest's name, such as `exec:./bot.py`, is found here; it is not run here."""

import hashlib
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from pbt.errors import PlayerError
from pbt.user_folders import expanded

PREFIX = "exec:"
FORFEIT_PREFIX = "forfeit: "
"""The reason of a game that a guest lost by a fault begins with this."""
DEFAULT_MOVE_TIMEOUT_S = 10.0
# An interpreter that loads large libraries starts slowly, once per process.
START_TIMEOUT_S = 60.0
_ID_DIGITS = 12
_OF_SHELLS = ("|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>>", "2>&1")


@dataclass(frozen=True)
class GuestProgram:
    """A guest's program and the command that runs it.

    command         the command and its arguments; the first part is an absolute path
    label           the command for people: printable, files without their folders
    name            the player's name in the league: the label, and the beginning of a hash over
                    the label and the files in the command. A changed file makes another player
    move_timeout_s  limit for one answer
    """

    command: tuple[str, ...]
    label: str
    name: str
    move_timeout_s: float = DEFAULT_MOVE_TIMEOUT_S


def is_guest(name: str) -> bool:
    return name.startswith(PREFIX)


def printable(text: str) -> str:
    """The text with escapes for characters that move a terminal's cursor or break its lines."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def find_program(name: str, move_timeout_s: float = DEFAULT_MOVE_TIMEOUT_S) -> GuestProgram:
    """The program of "exec:COMMAND [ARGUMENT ...]". It is quoted as for a shell, but no shell runs.

    Raises: PlayerError when the file does not exist or may not be executed, and for operators that
    only a shell could run.
    """
    example = "expected exec:./bot.py, or exec:'./bot.py --depth 3'"
    try:
        words = shlex.split(name.removeprefix(PREFIX))
    except ValueError as error:
        raise PlayerError(f"player {name!r}: {error}; {example}") from error
    if not words:
        raise PlayerError(f"player {name!r} names no program; {example}")
    if operators := [word for word in words if word in _OF_SHELLS]:
        raise PlayerError(
            f"player {name!r}: {operators[0]} needs a shell, but the program is run without "
            f"one; {example}; put the rest into a script"
        )
    command = (_executable(name, words[0]), *words[1:])
    label = printable(
        " ".join(Path(part).name if Path(part).is_file() else part for part in command)
    )
    digest = hashlib.sha256()
    digest.update(label.encode())
    for part in command:
        if Path(part).is_file():
            digest.update(hashlib.sha256(Path(part).read_bytes()).digest())
    return GuestProgram(
        command, label, f"{label} #{digest.hexdigest()[:_ID_DIGITS]}", move_timeout_s
    )


def _executable(name: str, program: str) -> str:
    if "/" not in program:
        if path_of_program := shutil.which(program):
            return path_of_program
        here = f"; did you mean exec:./{printable(program)}?" if Path(program).exists() else ""
        raise PlayerError(
            f"player {name!r}: no program {program!r} on the "
            f"PATH{here or '; expected a path such as ./bot.py'}"
        )
    path = expanded(program).absolute()
    if not path.is_file():
        raise PlayerError(
            f"player {name!r}: no file {printable(str(path))}; paths are relative to the "
            "working directory"
        )
    if not os.access(path, os.X_OK):
        typed = printable(program)
        raise PlayerError(
            f"player {name!r}: {printable(str(path))} is not executable; `chmod +x {typed}`, "
            f"or name its interpreter: exec:'python3 {typed}'"
        )
    return str(path)
