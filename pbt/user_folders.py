"""The folders of the user who runs this program. There may be none, as in some containers."""

import os
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """The path with `~` and `~name` replaced; unchanged where such a user has no home."""
    return Path(os.path.expanduser(path))


def user_folder(variable: str, below_home: str) -> Path | None:
    """The program's own folder, which need not exist; None for a user without a home.

    variable    of the environment, by the XDG Base Directory Specification
    below_home  where it is without that variable
    """
    named = os.environ.get(variable, "")
    # The specification has relative paths ignored.
    base = Path(named) if os.path.isabs(named) else expanded("~") / below_home
    return base / "pbt-arena" if base.is_absolute() else None
