"""Removes what Doom engines leave behind when their process is killed while one of them starts.

That is their folder, their names in /dev/shm, and perhaps engines themselves: an engine asks to end
with its process as one of the first things that it does, but an engine that was stopped before that
stays stopped.

A process that starts engines has this module watch over it. The watcher is a small process of its
own, whose standard input ends with the watched process: `python -I -S strays.py`. It uses the
standard library only, and nothing of this package, so that it starts in milliseconds.
"""

import fcntl
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SHARED = Path("/dev/shm")  # noqa: S108  where ViZDoom puts its names
NAMES = ("ViZDoomSM", "ViZDoomMQCtr", "ViZDoomMQDoom")
_NAMESPACE = "/proc/self/ns/pid"
# A name without a namespace is one of an earlier version.
_FOLDER = re.compile(r"doom-engine-(?:ns(?P<namespace>\d+)-)?(?P<pid>\d+)-[^/]*")
_STARTED = re.compile(rb"/doom-engine-(?:ns\d+-)?(?P<pid>\d+)-[^/]*/")
# An engine maps a name microseconds after it made it.
_YOUNG_S = 5.0
# The kernel kills the engines of a killed process right after it.
_LAST_ENGINES_S = 2.0


def folder_prefix(pid: int) -> str:
    """How the names of the folders begin that engines of this process get."""
    return f"doom-engine-ns{_namespace()}-{pid}-"


def _namespace() -> int:
    """The namespace in which this process's pid counts; 0 where the system has none."""
    try:
        return os.stat(_NAMESPACE).st_ino
    except FileNotFoundError:
        return 0


def remove_strays(young_s: float = _YOUNG_S) -> list[Path]:
    """End engines of processes that are gone, and remove what they left. Returns the paths removed.

    These are their folders, and names in /dev/shm that no process has mapped.

    young_s  names younger than this many seconds stay: their engine may be starting
    """
    _end_orphans()
    folders = [
        path for path in Path(tempfile.gettempdir()).glob("doom-engine-*") if _is_orphan(path)
    ]
    for path in folders:
        shutil.rmtree(path, ignore_errors=True)
    names = list(_own_names(young_s))
    if names:
        mapped = _mapped()
        names = [path for path in names if str(path) not in mapped and not _open_somewhere(path)]
    for path in names:
        path.unlink(missing_ok=True)
    return folders + names


def _is_orphan(folder: Path) -> bool:
    """Whether the process that this folder is named for is gone."""
    match = _FOLDER.fullmatch(folder.name)
    if match is None or match["namespace"] not in (None, str(_namespace())):
        return False
    return not Path(f"/proc/{match['pid']}").exists()


def _end_orphans() -> None:
    """Kill engines whose process is gone."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (path / "cmdline").read_bytes()
            started = _STARTED.search(command) if b"\0+viz_instance_id\0" in command else None
            # In another container the same number means another process.
            if (
                started
                and not Path(f"/proc/{int(started['pid'])}").exists()
                and (path / "ns/pid").readlink() == Path("/proc/self/ns/pid").readlink()
            ):
                os.kill(int(path.name), signal.SIGKILL)


def _own_names(young_s: float) -> Iterator[Path]:
    """Names in /dev/shm of this user's engines that are not younger than `young_s` seconds."""
    for path in SHARED.glob("ViZDoom*"):
        with suppress(FileNotFoundError):
            status = path.stat()
            if (
                path.name.startswith(NAMES)
                and status.st_uid == os.getuid()
                and time.time() - status.st_mtime > young_s
            ):
                yield path


def _mapped() -> set[str]:
    """Every file in /dev/shm that some process has mapped, as far as this one may look."""
    paths = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            paths |= {
                line.split(maxsplit=5)[5].rstrip()
                for line in maps.read_text(errors="replace").splitlines()
                if " /dev/shm/" in line
            }
    return paths


def _open_somewhere(path: Path) -> bool:
    """Whether any process, visible here or not, has the file open or mapped for writing.

    ViZDoom and its engines do, and the kernel then refuses a read lease (fcntl(2), F_SETLEASE).
    False where the system has no leases.
    """
    with suppress(OSError), path.open("rb") as file:
        # A process that opens the file meanwhile waits until it is closed here. The kernel sends
        # this signal then, which is ignored.
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except BlockingIOError:
            return True
    return False


def watch() -> None:
    """Wait for the end of the standard input, then remove strays until the last engine is gone."""
    sys.stdin.buffer.read()
    deadline = time.monotonic() + _LAST_ENGINES_S
    while time.monotonic() < deadline:
        time.sleep(0.2)
        remove_strays(young_s=0.1)


if __name__ == "__main__":
    watch()
