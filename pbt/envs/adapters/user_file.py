"""A game from a user's own file, "./file.py:function", for the local command line.

The function returns a PettingZoo AEC or parallel environment, a Gymnasium environment, or a `Game`.
"""

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium

from pbt.envs.adapters.gymnasium_env import GymnasiumGame
from pbt.envs.adapters.pettingzoo_aec import PettingZooAEC
from pbt.envs.adapters.pettingzoo_parallel import PettingZooParallel
from pbt.envs.contract import EnvSpec, Game
from pbt.envs.places import place_of
from pbt.envs.voice import aside, quiet
from pbt.errors import EnvError, EnvNameError
from pbt.user_folders import expanded


def file_spec(name: str) -> EnvSpec:
    """The game of "path.py:function". Runs the file; the path is relative to the working directory.

    It is not measured yet: `replayable` and `chance` are placeholders.

    Raises: EnvNameError when there is no such file or function; EnvError for code that raises, with
    its traceback, and for a result that is no environment.
    """
    path_text, _, function_name = name.rpartition(":")
    if not path_text or not function_name:
        raise EnvNameError(
            f"env {name!r} names no function; expected './my_game.py:function', with the "
            "function that returns the environment"
        )
    path = _python_file(name, path_text)
    with aside():
        function = _function(name, _load(name, path), function_name)

    def make(**options: Any) -> Game:
        with aside():
            try:
                env = function(**options)
            except Exception as error:
                raise EnvError(
                    f"env {name!r}: {function_name}() raised {type(error).__name__}: "
                    f"{error}{_user_traceback(error)}"
                ) from error
            game = adapt(env, name)
        return quiet(game)

    winners = "places the game declares (info['place']), else the ranking of summed rewards"
    description = inspect.getdoc(function) or f"{function_name} of {path.name}"
    return EnvSpec(name, make, True, True, winners, description)


def adapt(env: Any, name: str) -> Game:
    """The environment behind the adapter of its kind; a `Game` is returned as it is.

    Raises: EnvError for anything else.
    """
    if isinstance(env, Game):
        return env
    if isinstance(env, gymnasium.Env):
        return GymnasiumGame(env, name)
    if hasattr(env, "possible_agents") and hasattr(env, "step"):
        # AEC environments have `last`. Attributes decide and not the base class, so that
        # environments with PettingZoo's interface but another base class work as well.
        return PettingZooAEC(env, name) if hasattr(env, "last") else PettingZooParallel(env, name)
    raise EnvError(
        f"env {name!r}: its function returned {type(env).__name__}; expected a PettingZoo "
        "AEC or parallel environment (with possible_agents), "
        "a gymnasium.Env, or a pbt.envs.contract.Game; return the environment object itself"
    )


def _python_file(name: str, path_text: str) -> Path:
    """Raises: EnvNameError when there is none, or one that Python does not load."""
    path = place_of(expanded(path_text).resolve())
    if not path.is_file():
        raise EnvNameError(
            f"env {name!r}: no file {path}; expected a Python file; a path in a config begins in "
            f"the config's folder, one that is typed in the working directory, {Path.cwd()}. Where "
            "the file of a population has moved: arena train --resume NAME --set "
            "env.name=./new/place.py:function"
        )
    if importlib.util.spec_from_file_location(path.stem, path) is None:
        raise EnvNameError(
            f"env {name!r}: {path.name} is not a Python file; expected a name that ends in .py"
        )
    return path


def _load(name: str, path: Path) -> ModuleType:
    """The module of the file, run anew, with its folder and that of its package to import from."""
    top = _package(path)
    # Last, so that no file beside a game stands in for a module that is installed.
    sys.path += [folder for folder in map(str, (path.parent, top.parent)) if folder not in sys.path]
    try:
        if top == path:
            return _run(path, _alias(path))
        package = _alias(top)
        for known in [key for key in sys.modules if key.partition(".")[0] == package]:
            del sys.modules[known]
        _run(top / "__init__.py", package)
        parts = path.relative_to(top).with_suffix("").parts
        return importlib.import_module(".".join([package, *parts]))
    except Exception as error:
        advice = ""
        if isinstance(error, ModuleNotFoundError):
            advice = (
                f"; {error.name!r} is neither installed nor beside {path.name}: install it, or "
                "put it there"
            )
        raise EnvError(
            f"env {name!r}: loading {path.name} raised {type(error).__name__}: "
            f"{error}{advice}{_user_traceback(error)}"
        ) from error


def _package(path: Path) -> Path:
    """The folder of the outermost package that the file is in; the file itself without any."""
    top = path
    while (top.parent / "__init__.py").is_file() and path.name != "__init__.py":
        top = top.parent
    return top


def _alias(path: Path) -> str:
    """A module's name that no other module has: a user may call the file like one of ours."""
    return f"user_env_{hashlib.blake2b(str(path).encode(), digest_size=8).hexdigest()}"


def _run(path: Path, module_name: str) -> ModuleType:
    """Load a file as a module of this name, or as a package if it is an `__init__.py`."""
    module_spec = importlib.util.spec_from_file_location(module_name, path)
    assert module_spec is not None and module_spec.loader is not None, path
    module = importlib.util.module_from_spec(module_spec)
    # Dataclasses look up their module by its name.
    sys.modules[module_name] = module
    try:
        module_spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


def _function(name: str, module: ModuleType, function_name: str) -> Any:
    function = getattr(module, function_name, None)
    if callable(function):
        return function
    own = [
        key
        for key, value in vars(module).items()
        if callable(value)
        and not key.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
    ]
    contents = f"it has {', '.join(own)}" if own else "it defines none"
    what = (
        f"no function {function_name!r}"
        if function is None
        else f"{function_name!r} is a {type(function).__name__}, not a function"
    )
    raise EnvNameError(f"env {name!r}: {what}; expected a function of the file: {contents}")


def _user_traceback(error: BaseException) -> str:
    """The traceback without this module's own frames, on lines of its own.

    It is empty where no line of the user's raised the error: it would only say the error again.
    """
    frames = error.__traceback__
    while frames is not None and (
        "importlib" in frames.tb_frame.f_code.co_filename
        or frames.tb_frame.f_code.co_filename == __file__
    ):
        frames = frames.tb_next
    if frames is None and not isinstance(error, SyntaxError):  # which shows the line itself
        return ""
    lines = traceback.format_exception(type(error), error, frames, chain=False)
    return "\n" + "".join(lines).rstrip()
