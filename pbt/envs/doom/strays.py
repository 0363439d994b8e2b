"""What engines leave behind when their process is killed while one of them starts: their folder,
their names in /dev/shm, and perhaps themselves: an engine asks to end with its process as one of
the first things it does, but one that was stopped before stays stopped.

A process that starts engines has this module watch over it, as a small process of its own: `python
-I -S strays.py PID`, whose standard input ends with the watched process. Standard library only, and
nothing of this package, so that it starts in milliseconds.
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
# Without a namespace: of versions that did not write it, and do not read it.
_FOLDER = re.compile(r"doom-engine-(?:ns(?P<namespace>\d+)-)?(?P<pid>\d+)-[^/]*")
_STARTED = re.compile(rb"/doom-engine-(?:ns\d+-)?(?P<pid>\d+)-[^/]*/")
# Between making a name and mapping it pass microseconds.
_YOUNG_S = 5.0
# Engines of a process that was killed are killed right after it.
_LAST_ENGINES_S = 2.0


def folder_prefix(pid: int) -> str:
    """Of the folders of engines that a process starts."""
    return f"doom-engine-ns{_namespace()}-{pid}-"


def _namespace() -> int:
    """In which this process's numbers count; 0 where the system knows of none."""
    try:
        return os.stat(_NAMESPACE).st_ino
    except FileNotFoundError:
        return 0


def remove_strays(young_s: float = _YOUNG_S) -> list[Path]:
    """Remove folders of processes that are gone, and names older than `young_s` seconds that no
    process has mapped. Returns them.

    Engines of processes that are gone are ended.
    """
    _end_orphans()
    found = [path for path in Path(tempfile.gettempdir()).glob("doom-engine-*") if _is_orphan(path)]
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    names = list(_own_names(young_s))
    if names:
        mapped = _mapped()
        names = [path for path in names if str(path) not in mapped and not _open_somewhere(path)]
    for path in names:
        path.unlink(missing_ok=True)
    return found + names


def _is_orphan(folder: Path) -> bool:
    match = _FOLDER.fullmatch(folder.name)
    if match is None or match["namespace"] not in (None, str(_namespace())):
        return False
    return not Path(f"/proc/{match['pid']}").exists()


def _end_orphans() -> None:
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (path / "cmdline").read_bytes()
            started = _STARTED.search(command) if b"\0+viz_instance_id\0" in command else None
            # In a container a number means another process.
            if (
                started
                and not Path(f"/proc/{int(started['pid'])}").exists()
                and (path / "ns/pid").readlink() == Path("/proc/self/ns/pid").readlink()
            ):
                os.kill(int(path.name), signal.SIGKILL)


def _own_names(young_s: float) -> Iterator[Path]:
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
    """Everything in /dev/shm that some process has mapped, as far as one may look."""
    found = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            found |= {
                line.split(maxsplit=5)[5].rstrip()
                for line in maps.read_text(errors="replace").splitlines()
                if " /dev/shm/" in line
            }
    return found


def _open_somewhere(path: Path) -> bool:
    """Whether any process, seen or not, has it open or mapped for writing, as ViZDoom and its
    engines do: then nobody is given a lease to read.

    fcntl(2), F_SETLEASE. False where the system has no leases.
    """
    with suppress(OSError), path.open("rb") as file:
        # Who opens it meanwhile is told by this signal, which is ignored, and waits until it is
        # closed here.
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except BlockingIOError:
            return True
    return False


def watch() -> None:
    """Wait for the end of the standard input, then look for strays until the last engines are
    gone, too.
    """
    sys.stdin.buffer.read()
    deadline = time.monotonic() + _LAST_ENGINES_S
    while time.monotonic() < deadline:
        time.sleep(0.2)
        remove_strays(young_s=0.1)


if __name__ == "__main__":
    watch()
