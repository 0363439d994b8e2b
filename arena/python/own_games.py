"""A game that a script gives as a function, as the name by which every process finds it.

Trainings start processes, and resumes and matches come later: all of them load a game by its name.
So a function counts as the name of its file with its own: "/path/my_game.py:make".
"""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pbt.errors import ConfigError

FILES_OF_GAMES = "user_env_"
"""How the modules begin as which `pbt.envs.adapters.user_file` loads the files of games."""

Env = str | Callable[..., Any]


def game_name(env: Env) -> str:
    """The name of a game. env: its name, or the function of a file that makes it.

    Raises: ConfigError for a function that no file has under its own name.
    """
    if isinstance(env, str):
        return env
    name = getattr(env, "__qualname__", None)
    if name is None:
        raise _refused(repr(env), "is no function; give one that makes the game")
    if str(env.__module__).startswith(FILES_OF_GAMES):
        raise _refused(
            name,
            "is used while its own file is loaded as a game; put what the script does under "
            '`if __name__ == "__main__":`',
        )
    if not name.isidentifier():  # "<lambda>", or "f.<locals>.make"
        shown = "a lambda" if name.endswith("<lambda>") else name
        raise _refused(shown, f"is no function at the top of a file; {_TO_A_FILE}")
    file = _file_of(env)
    if file is None or getattr(sys.modules.get(env.__module__), name, None) is not env:
        raise _refused(name, f"stands in no file; {_TO_A_FILE}")
    return f"{file}:{name}"


_TO_A_FILE = (
    "other processes, resumes and matches load the game from a file: write it to one (in a "
    'notebook with %%writefile my_game.py), and give env="./my_game.py:make", or import it from '
    "there"
)


def _file_of(env: Callable[..., Any]) -> Path | None:
    try:
        file = inspect.getsourcefile(env)
    except TypeError:
        return None
    path = None if file is None else Path(file).resolve()
    return path if path is not None and path.suffix == ".py" and path.is_file() else None


def _refused(name: str, problem: str) -> ConfigError:
    return ConfigError("env", [f"{name}: {problem}"])
