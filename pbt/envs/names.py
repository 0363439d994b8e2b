"""Says what a text means as a game's name: a registered name, an id, or a user's file."""

import difflib
from collections.abc import Iterable
from pathlib import Path

from pbt.user_folders import expanded

OPENSPIEL = "openspiel:"
MINATAR = "minatar:"
ATARI = "atari:"
GYMNASIUM = "gymnasium:"
PETTINGZOO = "pettingzoo:"
ALLOWED_VARIABLE = "ARENA_ALLOWED_GAMES"
"""The variable of a process and those that it starts with patterns of ids, such as "gymnasium:*".

Where files are not allowed, these ids are.
"""


def did_you_mean(word: str, known: Iterable[str], family: str = "") -> str:
    """The end of a message about an unknown word: the closest known ones, "" where none is close.

    family: what stands before a word of a name
    """
    close = difflib.get_close_matches(word, list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(family + one for one in close)}?" if close else ""


def is_id(name: str) -> bool:
    """Whether the name is an id of Gymnasium or PettingZoo."""
    return name.startswith((GYMNASIUM, PETTINGZOO))


def is_file_name(name: str) -> bool:
    """Whether the name is "./file.py:function" or the like: it names a Python file or a path."""
    path = name.partition(":")[0]
    return path.endswith(".py") or "/" in path or "\\" in path


def absolute_name(name: str, folder: Path = Path()) -> str:
    """The name with the file's path absolute, so that it means the same from any working directory.

    Other names are returned as they are. folder: that a path of the name begins in
    """
    path, _, function = name.rpartition(":")
    if not path or not is_file_name(name):
        return name
    return f"{(folder / expanded(path)).resolve()}:{function}"
