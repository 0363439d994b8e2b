"""Where files of the user's lie now that a population names by their first place.

A game is known by its name and its options, and so are its ratings. A file that has moved is still
the same game, so its name stays and this table says where it is. The table belongs to the user of
this machine: `pbt-arena/places.json` in the user's folder of configurations.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from pbt.errors import EnvError
from pbt.files import write_whole


def place_of(path: Path) -> Path:
    """Where a file lies: the place that was told, if it is there, else the path itself."""
    told = _told().get(str(path))
    return Path(told) if told is not None and Path(told).exists() else path


def remember_place(path: Path, place: Path) -> None:
    """Note where a file lies now. Raises: EnvError when the table cannot be written."""
    table = _table()
    try:
        table.parent.mkdir(parents=True, exist_ok=True)
        write_whole(table, json.dumps({**_told(), str(path): str(place)}, indent=1))
    except OSError as error:
        raise EnvError(f"{table}: {error.strerror}; it notes where files of games lie") from error


def _table() -> Path:
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "pbt-arena" / "places.json"


def _told() -> Mapping[str, str]:
    try:
        told = json.loads(_table().read_bytes())
    except OSError:
        return {}
    except ValueError as error:
        raise EnvError(f"{_table()}: damaged ({error}); mend or remove it") from error
    return {str(path): str(place) for path, place in told.items()}
