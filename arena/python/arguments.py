"""Checks of the arguments of the functions for scripts, before anything is done."""

import inspect
from collections.abc import Callable, Iterable, Mapping

from arena.matches.lengths import MOST_GAMES, MOST_PROCESSES, MOST_ROUNDS, MOST_SEED
from pbt.config.problems import did_you_mean
from pbt.errors import ConfigError

BOUNDS = {
    "games": (1, MOST_GAMES),
    "episodes": (1, MOST_GAMES),
    "rounds": (1, MOST_ROUNDS),
    "concurrency": (1, MOST_PROCESSES),
    "seed": (0, MOST_SEED),
}
"""Least and most of each whole number, as on the command line."""


def check_counts(what: str, **counts: object) -> None:
    """Check whole numbers by their names; None is one that was left out.

    what  is asked for, such as "the match"
    Raises: ConfigError with every number that is outside its bounds.
    """
    problems = [
        f"{name} = {count!r}: must be a whole number from {least} to {most}"
        for name, count in counts.items()
        for least, most in [BOUNDS[name]]
        if count is not None
        and (not isinstance(count, int) or isinstance(count, bool) or not least <= count <= most)
    ]
    if problems:
        raise ConfigError(what, problems)


def check_keywords(
    function: Callable[..., object], given: Mapping[str, object], known: Iterable[str]
) -> None:
    """Check the keywords that a function of `arena` takes besides those that it names itself.

    Raises: TypeError as Python does for its own, with the nearest keyword.
    """
    for name in given.keys() - set(known):
        near = did_you_mean(name, [*known, *inspect.signature(function).parameters])
        hint = f"did you mean {near}?" if near else f"see help(arena.{function.__name__})"
        raise TypeError(f"arena.{function.__name__} has no keyword {name!r}; {hint}")


def check_callable(
    function: Callable[..., object], given: Mapping[str, object], others: tuple[type, ...] = ()
) -> None:
    """Check that each of these arguments is None, a function, or of another class.

    Raises: ConfigError with every one that is not.
    """
    problems = [
        f"{name}: found {one!r}; expected a function"
        for name, one in given.items()
        if not (one is None or isinstance(one, others))
        and (isinstance(one, type) or not callable(one))
    ]
    if problems:
        raise ConfigError(f"arena.{function.__name__}", problems)
