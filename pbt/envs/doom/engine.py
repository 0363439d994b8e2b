"""Engine processes: started in a folder of their own, gone with this process, leaving nothing behind.

ViZDoom talks to an engine through shared memory and queues named in /dev/shm. Both sides have opened them when `init` returns, so the names are
removed at once, and the folder with them: whatever ends this process, nothing is left. A process killed within `init` leaves three names;
`remove_strays` finds them.
"""

import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from pbt.envs.doom import launcher
from pbt.errors import EnvCrash, EnvError

_SHARED = Path("/dev/shm")  # noqa: S108  where ViZDoom puts them
_SHARED_NAME = re.compile(r"ViZDoom(SM|MQCtr|MQDoom)(?P<instance>\w+)")
# Nobody takes longer to start; a start that fails is tried again.
_STRAY_AFTER_S = 60.0
_ATTEMPTS = 3


def start_engine(configure: Callable[[Any], None]) -> Any:
    """A running `vizdoom.DoomGame`. configure: is given the new one before it starts.

    Raises: EnvError when ViZDoom is not installed or refuses the settings, EnvCrash when the engine does not start.
    """
    vizdoom = load_vizdoom()
    for attempt in range(1, _ATTEMPTS + 1):
        game = vizdoom.DoomGame()
        configure(game)
        folder = Path(tempfile.mkdtemp(prefix="doom-engine-"))
        try:
            game.set_vizdoom_path(str(_launch_script(folder, Path(vizdoom.__file__).with_name("vizdoom"))))
            game.set_doom_config_path(str(folder / "engine.ini"))
            game.init()
            return game
        except Exception as error:
            if attempt == _ATTEMPTS:
                said = _last_words(folder)
                raise EnvCrash(f"the Doom engine did not start in {_ATTEMPTS} attempts: {type(error).__name__}: {error}{said}") from error
        finally:
            _forget_names(game.get_instance_id())
            shutil.rmtree(folder, ignore_errors=True)
    raise AssertionError("every attempt returns or raises")


def load_vizdoom() -> Any:
    """The module. Raises: EnvError when it is not there."""
    try:
        import vizdoom
    except ImportError as error:
        raise EnvError(f"Doom games need ViZDoom, which cannot be loaded ({error}); install it: pip install vizdoom") from error
    return vizdoom


def _launch_script(folder: Path, engine: Path) -> Path:
    """An executable that stands in for the engine; ViZDoom takes a path, not a command."""
    command = [sys.executable, "-I", "-S", launcher.__file__, str(os.getpid()), str(folder), str(engine)]
    script = folder / "engine"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    script.chmod(0o700)
    return script


def _last_words(folder: Path) -> str:
    """What the engine printed at the end."""
    log = folder / "engine.log"
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
    found = [line.strip() for line in lines if line.strip()][-3:]
    return f"; it said: {' / '.join(found)}" if found else ""


def _forget_names(instance: str) -> None:
    for kind in ("SM", "MQCtr", "MQDoom"):
        (_SHARED / f"ViZDoom{kind}{instance}").unlink(missing_ok=True)


def remove_strays() -> list[Path]:
    """Remove the names that processes killed in the middle of a start left in /dev/shm. Returns them.

    Only one's own, a minute old, and of no engine that runs; names of a running engine are not needed any more either.
    """
    found = [(path, match["instance"]) for path in _own_files() if (match := _SHARED_NAME.fullmatch(path.name))]
    if not found:
        return []
    running = " ".join(argument for process in psutil.process_iter(["cmdline"]) for argument in process.info["cmdline"] or ())
    strays = [path for path, instance in found if instance not in running]
    for path in strays:
        path.unlink(missing_ok=True)
    return strays


def _own_files() -> list[Path]:
    old = []
    for path in _SHARED.glob("ViZDoom*"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        if status.st_uid == os.getuid() and time.time() - status.st_mtime > _STRAY_AFTER_S:
            old.append(path)
    return old
