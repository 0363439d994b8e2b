"""What was measured of users' games, kept so that the next start need not measure it again.

One small file for each game in the user's folder of caches. It is known by the content of the
game's files, so a file that was edited is measured anew.
"""

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pbt import __version__
from pbt.envs.contract import EnvSpec
from pbt.envs.measuring import Measured, measure
from pbt.envs.names import is_file_name
from pbt.envs.places import place_of
from pbt.files import write_whole
from pbt.user_folders import expanded, user_folder


def measured_once(env: EnvSpec, options: Mapping[str, Any]) -> Measured:
    """What a few games with these options show; a file's game is measured once for each content.

    Raises: EnvError where the game raises or breaks its contract.
    """
    path = _place(env.name, options) if is_file_name(env.name) else None
    if path is not None and (known := _read(path)) is not None:
        return known
    found = measure(partial(env.make, **options), env.name)
    if path is not None:
        with suppress(OSError):  # without a place to keep it, it is measured at every start
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(found._asdict()), many_writers=True)
    return found


def _read(path: Path) -> Measured | None:
    try:
        table = json.loads(path.read_bytes())
        found = Measured(table["replayable"], table["chance"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if all(isinstance(one, bool) for one in found) else None


def _place(name: str, options: Mapping[str, Any]) -> Path | None:
    """The file of a game with these options; None where there is no place for it."""
    try:
        content = [(str(path), _digest(path)) for path in own_files(name)]
    except OSError:
        return None
    about = [__version__, platform.python_version(), name, dict(options), content]
    key = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
    caches = user_folder("XDG_CACHE_HOME", ".cache")
    return None if caches is None else caches / "measured" / f"{key[:32]}.json"


def own_files(name: str) -> Iterator[Path]:
    """The files of a file game that was loaded: its own, and what it imported from beside it."""
    path = place_of(expanded(name.rpartition(":")[0]).resolve())
    top = path.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    named = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    # Some modules of libraries give a name that is no file's, such as "_classes.py".
    loaded = _resolved(file for file in named if file and os.path.isabs(file))
    within, installed = os.path.join(top, ""), os.path.join(sys.prefix, "")
    beside = {
        Path(file)
        for file in loaded
        if file.startswith(within) and not file.startswith(installed) and os.path.isfile(file)
    }
    yield from sorted({path, *beside})


def _resolved(files: Iterable[str]) -> set[str]:
    """Absolute files without symbolic links. Thousands of modules stand in a few hundred folders,
    each of which is resolved once.
    """
    found, folders = set(), dict[str, str]()
    for file in files:
        folder, name = os.path.split(file)
        if folder not in folders:
            folders[folder] = os.path.join(os.path.realpath(folder), "")
        whole = folders[folder] + name
        found.add(os.path.realpath(whole) if os.path.islink(whole) else whole)
    return found


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
