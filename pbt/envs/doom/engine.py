"""Starts Doom engines: each in a folder of its own, gone with this process, leaving nothing behind.

ViZDoom talks to an engine through shared memory and queues named in /dev/shm. Both sides have
opened them when `init` returns, so the names are removed at once, and the folder with them. Then
nothing is left, however this process ends. `strays` removes what a process leaves that is killed
within `init`.

An engine that ends within `init`, or cannot be executed, ends this process as well, by a fault of
ViZDoom 1.3 that no caller can catch.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

from pbt.envs.doom import launcher, strays
from pbt.envs.doom.launcher import ENGINE_LOG
from pbt.envs.doom.machine import shared_memory_problem
from pbt.errors import EnvCrash, EnvError

_ATTEMPTS = 3
_LINE_LENGTH = 200
# Several engines may start at the same time, one in each thread.
_WATCHING = threading.Lock()
_FORKING = threading.Lock()
_STARTER = Path(__file__).with_name("engine.sh")


def start_engine(configure: Callable[[Any], None]) -> Any:
    """A running `vizdoom.DoomGame`.

    configure  is given the new game before it starts
    Raises: EnvError when ViZDoom is not installed, refuses the settings or cannot execute anything;
    EnvCrash when the engine does not start.
    """
    vizdoom = load_vizdoom()
    if (problem := shared_memory_problem()) is not None:
        raise EnvError(problem)
    watched(os.getpid())
    for attempt in range(1, _ATTEMPTS + 1):
        game = vizdoom.DoomGame()
        configure(game)
        folder = Path(tempfile.mkdtemp(prefix=strays.folder_prefix(os.getpid())))
        try:
            launch(game, folder)
            return game
        except EnvError:
            raise
        except Exception as error:
            if attempt == _ATTEMPTS:
                log = folder / ENGINE_LOG
                found = (
                    f"{type(error).__name__}: "
                    f"{error}{last_words(log.read_bytes() if log.exists() else b'')}"
                )
                advice = (
                    "look at the scenario's .cfg and WAD, free memory, or use fewer environments"
                )
                raise EnvCrash(
                    f"the Doom engine did not start in {_ATTEMPTS} attempts: {found}; {advice}"
                ) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    raise AssertionError("every attempt returns or raises")


def launch(game: Any, folder: Path, preload: Path | None = None) -> None:
    """Start the engine of a `vizdoom.DoomGame` in an empty folder.

    preload  a library to load into the engine
    Raises: what `init` raises; EnvError as `start_engine` does.
    """
    game.set_vizdoom_path(
        str(_launch_script(folder, Path(load_vizdoom().__file__).with_name("vizdoom"), preload))
    )
    game.set_doom_config_path(str(folder / "engine.ini"))
    with _forking():
        game.init()
    _forget_names(game.get_instance_id())


def _forking() -> AbstractContextManager[object]:
    """Held while ViZDoom forks: one engine at a time, where this process's BLAS has threads.

    OpenBLAS joins its threads before each fork. Two forks at once join them twice, and the second
    may wait for ever. `arena` sets OPENBLAS_NUM_THREADS to 1; a program that loads this package
    starts its engines one by one unless it does so, too.
    """
    names = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
    chosen = next((value for name in names if (value := os.environ.get(name))), "")
    return nullcontext() if chosen == "1" else _FORKING


def engine_pid(instance: str) -> int:
    """The pid of a running engine.

    instance  as ViZDoom calls it
    Raises: OSError when there is none.
    """
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"+viz_instance_id" in words and instance.encode() in words:
                return int(path.parent.name)
    raise OSError(f"no engine {instance}")


def cpu_clock(pid: int) -> int:
    """The clock, for `time.clock_gettime`, of how long a process has computed.

    It is exact also while the process computes. This is what clock_getcpuclockid(3) returns on
    Linux.
    """
    return (~pid << 3) | 2


def load_vizdoom() -> Any:
    """The module vizdoom.

    Raises: EnvError when it is not installed.
    """
    try:
        import vizdoom
    except ImportError as error:
        raise EnvError(
            f"Doom games need ViZDoom, which cannot be loaded ({error}); install it: pip "
            "install vizdoom"
        ) from error
    return vizdoom


def watched(pid: int) -> int:
    """Start the watcher, the process that cleans up after this one (`strays`).

    The watcher waits until the descriptor returned here is closed, which the end of this process
    does. It runs in a session of its own, so that a signal to this process's group does not end it.
    No process waits for its end.

    pid  of this process
    """
    with _WATCHING:
        return _watched(pid)


@cache
def _watched(pid: int) -> int:
    command = [sys.executable, "-I", "-S", strays.__file__]
    read, write = os.pipe()
    with open(os.devnull, "wb") as nowhere:
        watcher = subprocess.Popen(
            command, stdin=read, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
    os.close(read)
    watcher.returncode = 0
    return write


def _launch_script(folder: Path, engine: Path, preload: Path | None) -> Path:
    """An executable that stands in for the engine, since ViZDoom takes a path and not a command.

    Raises: EnvError where it may not be executed.
    """
    command = [
        sys.executable,
        "-I",
        "-S",
        launcher.__file__,
        str(os.getpid()),
        str(folder),
        str(preload or ""),
        str(engine),
    ]
    (folder / "start").write_text(f'exec {shlex.join(command)} "$@"\n', encoding="utf-8")
    script = folder / "engine"
    script.symlink_to(_STARTER)
    if not os.access(script, os.X_OK):
        raise EnvError(
            f"{_STARTER} may not be executed, and starts Doom's engines: install on a file "
            "system without noexec, or chmod +x it"
        )
    return script


def last_words(log: bytes, writer: str = "it") -> str:
    """The last lines printed, as a terminal would have shown them.

    An engine that waits writes over its line thousands of times.
    """
    shown = (
        line.rstrip("\r").rpartition("\r")[2].strip()
        for line in log.decode(errors="replace").split("\n")
    )
    found = [line[:_LINE_LENGTH] for line in shown if line][-3:]
    return f"; {writer} said: {' / '.join(found)}" if found else ""


def _forget_names(instance: str) -> None:
    for kind in strays.NAMES:
        (strays.SHARED / f"{kind}{instance}").unlink(missing_ok=True)
