"""Where files of the user's lie now that a population names by their first place.

A game is known by its name and its options, and so are its ratings. A file that has moved is still
the same game, so its name stays and this table says where it is. The table belongs to the user of
this machine: `pbt-arena/places.json` in the user's folder of configurations.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from pbt.errors import EnvError, reason
from pbt.files import write_whole
from pbt.user_folders import user_folder


def place_of(path: Path) -> Path:
    """Where a file lies: the path itself, or the place that was told while nothing is there."""
    if path.exists() or (table := _table()) is None:
        return path
    told = _told(table).get(str(path))
    return Path(told) if told is not None and Path(told).exists() else path


def remember_place(path: Path, place: Path) -> None:
    """Note where a file lies now. Raises: EnvError when the table cannot be written."""
    table = _table()
    if table is None:
        raise EnvError(
            f"{path} lies at {place} now, and there is no place to note that: this user has no "
            "home; set XDG_CONFIG_HOME to a folder, or put the file back"
        )
    try:
        table.parent.mkdir(parents=True, exist_ok=True)
        write_whole(table, json.dumps({**_told(table), str(path): str(place)}, indent=1))
    except OSError as error:
        raise EnvError(f"{table}: {error.strerror}; it notes where files of games lie") from error


def _table() -> Path | None:
    folder = user_folder("XDG_CONFIG_HOME", ".config")
    return None if folder is None else folder / "places.json"


def _told(table: Path) -> Mapping[str, str]:
    try:
        told = json.loads(table.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise EnvError(f"{table} cannot be read ({reason(error)}); mend or remove it") from error
    if not isinstance(told, dict) or not all(isinstance(place, str) for place in told.values()):
        raise EnvError(
            f"{table}: found {told!r:.60}; expected an object of paths; mend or remove it"
        )
    return told
