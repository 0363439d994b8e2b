"""Optional packages that families of games need."""

from collections.abc import Iterator
from contextlib import contextmanager

from pbt.errors import EnvError


@contextmanager
def extra_of(name: str, package: str, module: str, extra: str) -> Iterator[None]:
    """In this block a package of a game is imported.

    name     of the game
    package  as people call it
    module   that is imported
    extra    of pbt-arena, which brings it
    Raises: EnvError that says what to install, where it is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise EnvError(
            f"env {name!r}: {package} is not installed; `pip install 'pbt-arena[{extra}]'` "
            "in the environment of this program adds it"
        ) from error
