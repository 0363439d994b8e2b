"""What the arguments of the functions for scripts may be, by their names (docs/python.md).

A name means the same in every function, so each has one kind.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pbt.errors import ConfigError

_PLAYER = 'such as "demo@best", "demo/m2" or "random"'


@dataclass(frozen=True)
class _Kind:
    """What an argument may be. says: that, in words."""

    says: str
    fits: Callable[[object], bool]


def _text(value: object) -> bool:
    return isinstance(value, str)


def _texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_text, value))


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)


def _or_none(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fits(value)


_FLAG = _Kind("True or False", _flag)
_FUNCTION = _Kind("a function", _or_none(_function))
_POPULATION = _Kind('the name of a population, such as "first"', _or_none(_text))
_KINDS = {
    "data": _Kind("a folder", _or_none(lambda value: isinstance(value, str | Path))),
    "name": _Kind('a name, such as "first"', _text),
    "population": _POPULATION,
    "player": _Kind(f"the name of a player, {_PLAYER}", _text),
    "players": _Kind(f"a list of names of players, {_PLAYER}", _texts),
    "env": _Kind(
        'the name of a game, such as "connect_four", or the function of a file that makes it',
        _or_none(lambda value: _text(value) or _function(value)),
    ),
    "game": _Kind('the name of a game, such as "connect_four"', _or_none(_text)),
    "options": _Kind(
        'a dictionary of the game\'s options, such as {"steps": 3}',
        _or_none(lambda value: isinstance(value, Mapping) and all(map(_text, value))),
    ),
    "objective": _Kind('"win", "margin" or "return"', _or_none(_text)),
    "role": _Kind("the name of a role", _or_none(_text)),
    "match": _Kind("the number of a match", _or_none(_whole)),
    "kind": _Kind(
        '"training" or "evaluation"',
        _or_none(lambda value: isinstance(value, str) and value in ("training", "evaluation")),
    ),
    "seed": _Kind("a whole number", _whole),
    "most_histories": _Kind(
        "a whole number from 1 on",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
    ),
    **dict.fromkeys(
        ("record", "greedy", "fresh", "everyone", "every", "mixture", "allow_files", "strict"),
        _FLAG,
    ),
    **dict.fromkeys(("on_start", "on_progress"), _FUNCTION),
}


def check_kinds(
    function: str,
    given: Mapping[str, object],
    *,
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Check arguments by their names.

    function  that has them, such as "arena.match"
    given     by name
    renamed   argument -> the one whose kind it has, where these differ
    Raises: ConfigError with every one that is of another kind.
    """
    problems = [
        f"{name}: found {value!r}; expected {kind.says}"
        for name, value in given.items()
        for kind in (_KINDS[renamed.get(name, name)],)
        if not kind.fits(value)
    ]
    if problems:
        raise ConfigError(function, problems)
