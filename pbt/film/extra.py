"""Whether what films are made with is installed."""

from importlib.util import find_spec

from pbt.errors import PbtError

# Module -> the package that brings it.
_NEEDED = {"av": "PyAV", "PIL": "Pillow"}


class FilmError(PbtError):
    """Something that cannot be filmed, or no place for the video."""

    exit_code = 2


def require_video() -> None:
    """Raises: FilmError when a package of the extra `video` is missing."""
    missing = [package for module, package in _NEEDED.items() if find_spec(module) is None]
    if missing:
        raise FilmError(
            f"videos are written with {' and '.join(missing)}, not found here; install the "
            "extra: pip install 'pbt-arena[video]'"
        )
