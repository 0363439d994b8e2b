"""Games by name. A new built-in game is a module of its own and a row of BUILTIN.

These are the built-in ones, families of games of another package ("openspiel:NAME"), those of
installed packages (entry-point group "pbt_arena.envs"), ids of Gymnasium and PettingZoo
("gymnasium:ID") and, where allowed, a user's own file.
"""

import difflib
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from pbt.envs.contract import EnvSpec, Game
from pbt.envs.names import (
    ALLOWED_VARIABLE,
    ATARI,
    GYMNASIUM,
    MINATAR,
    OPENSPIEL,
    PETTINGZOO,
    is_file_name,
    is_id,
)
from pbt.envs.places import place_of
from pbt.envs.viewed_game import viewed
from pbt.errors import EnvError, EnvFileError, EnvNameError, EnvOptionsError, PbtError
from pbt.user_folders import expanded

ENTRY_POINT_GROUP = "pbt_arena.envs"

BUILTIN: dict[str, tuple[str, str]] = {
    "connect_four": ("pbt.envs.classic.connect_four", "SPEC"),
    "tictactoe": ("pbt.envs.classic.games", "TICTACTOE"),
    "leduc_holdem": ("pbt.envs.classic.games", "LEDUC_HOLDEM"),
    "texas_holdem": ("pbt.envs.classic.games", "TEXAS_HOLDEM"),
    "cartpole": ("pbt.envs.classic.games", "CARTPOLE"),
    "rock_paper_scissors": ("pbt.envs.tiny.rock_paper_scissors", "SPEC"),
    "hide_and_seek": ("pbt.envs.tiny.hide_and_seek", "SPEC"),
    "memory": ("pbt.envs.tiny.memory", "SPEC"),
    "mpe": ("pbt.envs.mpe", "SPEC"),
    "doom": ("pbt.envs.doom.game", "SPEC"),
    "doom_match": ("pbt.envs.doom.match", "SPEC"),
}
"""Name -> module and attribute, imported when the game is asked for."""

FAMILIES: dict[str, tuple[str, str]] = {
    OPENSPIEL: ("pbt.envs.adapters.openspiel", "openspiel_spec"),
    ATARI: ("pbt.envs.adapters.atari", "atari_spec"),
    MINATAR: ("pbt.envs.adapters.minatar", "minatar_spec"),
}
"""Beginning of a name -> module and function that gives the EnvSpec of a whole name."""


def comes_with_package(name: str) -> bool:
    """Whether the game is a built-in one or of a family: known to do what its spaces say."""
    return name in BUILTIN or name.startswith(tuple(FAMILIES))


def names() -> tuple[str, ...]:
    """Every registered name but those of families, sorted. Imports no game."""
    return tuple(sorted({*BUILTIN, *(point.name for point in _installed())}))


def spec(
    name: str,
    *,
    allow_files: bool = False,
    measured: tuple[bool, bool] | None = None,
    options: Mapping[str, Any] | None = None,
) -> EnvSpec:
    """The game called `name`, or, with allow_files, of the form "./file.py:function".

    allow_files  the name may be a file, and options may name files
    measured     (replayable, chance), where they were measured before: that takes some games. A
                 registered game is measured where its options name files (`measuring.as_played`)
    options      that the game will be made with, by which files and ids are measured
    Raises: EnvNameError for an unknown name (with the closest ones); EnvError for a file where none
    is allowed, and for a plug-in that fails to load.
    """
    found = _of_others(name, allow_files)
    if found is not None:
        return _measured(viewed(_naming_faults(found)), measured, options or {})
    found = _registered(name)
    if found is None:
        raise EnvNameError(_unknown(name, allow_files))
    if measured is not None:
        found = replace(found, replayable=measured[0], chance=measured[1])
    found = _naming_faults(found)
    return viewed(_with_places(found) if allow_files else _without_files(found))


def _naming_faults(env: EnvSpec) -> EnvSpec:
    """The game, which names the options that it does not take, and where its own code raises."""

    def make(**options: Any) -> Game:
        try:
            return env.make(**options)
        except PbtError:
            raise
        # The game's own code may raise anything.
        except Exception as error:
            if isinstance(error, TypeError) and options:
                named = [name for name in options if f"'{name}'" in str(error)] or list(options)
                values = ", ".join(f"{name} = {options[name]!r}" for name in named)
                problem = f"{values}: {env.name} does not take this: {error}"
                raise EnvOptionsError([problem]) from error
            frame = traceback.extract_tb(error.__traceback__)[-1]
            raise EnvError(
                f"{env.name} could not be made: {type(error).__name__}: {error} "
                f"({frame.filename}:{frame.lineno}); fix the game, `arena env check` helps"
            ) from error

    return replace(env, make=make)


def _with_places(env: EnvSpec) -> EnvSpec:
    """The game, whose files among the options are taken from where they lie now."""

    def make(**options: Any) -> Game:
        places = {name: str(place_of(Path(options[name]))) for name in env.paths(options)}
        return env.make(**{**options, **places})

    return replace(env, make=make)


def _unknown(name: str, allow_files: bool) -> str:
    close = difflib.get_close_matches(name, names(), n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(repr(match) for match in close)}?" if close else "."
    own = " Your own file: './my_game.py:function'" if allow_files else ""
    return (
        f"env {name!r} is not known{hint} Registered: {', '.join(names())}; "
        f"{', '.join(f'{family}NAME' for family in FAMILIES)}, "
        f"{GYMNASIUM}ID, {PETTINGZOO}FAMILY/NAME.{own}"
    )


def _of_others(name: str, allow_files: bool) -> EnvSpec | None:
    """The game of a file or an id, not measured yet; None for other names."""
    if is_id(name):
        allowed = os.environ.get(ALLOWED_VARIABLE, "").split()
        if not allow_files and not any(fnmatchcase(name, pattern) for pattern in allowed):
            raise EnvFileError(
                f"env {name!r} is code of another package; expected a name of `arena env list` "
                "here; the operator of a service allows more: arena serve --allow-games "
                f"'{name.partition(':')[0]}:*'"
            )
        from pbt.envs.adapters.by_id import id_spec

        return id_spec(name) if allow_files else _without_files(id_spec(name))
    if not is_file_name(name):
        return None
    if not allow_files:
        raise EnvFileError(
            f"env {name!r} is a file of the user's; expected a registered name here, because only "
            "the local command line runs code from files; train it from the command line, or "
            f"register it as an entry point in the group {ENTRY_POINT_GROUP!r}"
        )
    from pbt.envs.adapters.user_file import file_spec

    return file_spec(name)


def _measured(
    env: EnvSpec, measured: tuple[bool, bool] | None, options: Mapping[str, Any]
) -> EnvSpec:
    """A game of others, which does not say whether it can be replayed and has chance."""
    from pbt.envs.measured import measured_once

    replayable, chance = measured or measured_once(env, options)
    return replace(env, replayable=replayable, chance=chance)


def _registered(name: str) -> EnvSpec | None:
    for family, (module, function) in FAMILIES.items():
        if name.startswith(family):
            of_family: EnvSpec = getattr(import_module(module), function)(name)
            return of_family
    if name in BUILTIN:
        module, attribute = BUILTIN[name]
        built_in: EnvSpec = getattr(import_module(module), attribute)
        return built_in
    return next((_load(point) for point in _installed() if point.name == name), None)


def _without_files(env: EnvSpec) -> EnvSpec:
    """The game, refusing options that are paths."""

    def make(**options: Any) -> Game:
        if paths := env.paths(options):
            shown = ", ".join(f"{name} = {options[name]!r}" for name in paths)
            raise EnvError(
                f"env.options: {shown}: a file of the user's; expected none here, because "
                "only the local command line opens files by path"
            )
        return env.make(**options)

    return replace(env, make=make)


def absolute_options(
    name: str, options: Mapping[str, Any], folder: Callable[[str], Path] = lambda option: Path()
) -> dict[str, Any]:
    """`env.options` with absolute paths, where the game says which of them are paths.

    folder: that the path of an option begins in
    """
    paths = spec(name).paths(options) if name in names() else ()
    return {
        **options,
        **{path: str((folder(path) / expanded(options[path])).resolve()) for path in paths},
    }


def _installed() -> Iterator[EntryPoint]:
    yield from entry_points(group=ENTRY_POINT_GROUP)


def _load(point: EntryPoint) -> EnvSpec:
    """The entry point's EnvSpec, or that of the function without arguments that it names."""
    where = f"env {point.name!r} (entry point {point.value!r})"
    try:
        loaded = point.load()
        env = loaded if isinstance(loaded, EnvSpec) else loaded()
    except Exception as error:
        raise EnvError(
            f"{where} failed to load: {type(error).__name__}: {error}; reinstall or remove "
            "the package that provides it"
        ) from error
    if not isinstance(env, EnvSpec):
        raise EnvError(
            f"{where} gave {type(env).__name__}; expected an EnvSpec or a function without "
            "arguments that returns one"
        )
    return env
