"""Checks that the packages of the extra `video` are installed."""

from importlib.util import find_spec

from pbt.errors import PbtError

# Module -> the package that brings it.
_NEEDED = {"av": "PyAV", "PIL": "Pillow"}


class FilmError(PbtError):
    """A game that cannot be filmed, or a video that cannot be written."""

    exit_code = 2


def require_video() -> None:
    """Raises: FilmError when a package of the extra `video` is missing."""
    missing = [package for module, package in _NEEDED.items() if find_spec(module) is None]
    if missing:
        raise FilmError(
            f"videos are written with {' and '.join(missing)}, not found here; install the "
            "extra: pip install 'pbt-arena[video]'"
        )
