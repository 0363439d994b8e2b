"""The address of the running service: a small file that the service writes, and a lock.

The file can be left over from a service that is gone; it is true while its process holds the lock.
Needs no torch.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from arena.data.lock import holder
from pbt.files import write_whole


@dataclass(frozen=True)
class ServiceState:
    """What a running service writes about itself.

    pid         its process
    url         its address, as this machine reaches it, with its root path
    started_at  seconds since the epoch
    version     version of the project
    socket      the path of its Unix socket, None where it listens on an address
    """

    pid: int
    url: str
    started_at: float
    version: str
    socket: str | None = None


def service_folder(data: Path) -> Path:
    return data / "service"


def service_lock(data: Path) -> Path:
    """The lock that the service holds while it runs."""
    return service_folder(data) / "lock"


def write_state(data: Path, state: ServiceState) -> None:
    path = _path(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(state)))


def remove_state(data: Path) -> None:
    with suppress(FileNotFoundError):
        _path(data).unlink()


def read_state(data: Path) -> ServiceState | None:
    """The state of a running service; None when none runs, even if it left its file."""
    pid = holder(service_lock(data))
    if pid is None:
        return None
    try:
        state = ServiceState(**json.loads(_path(data).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return state if state.pid == pid else None


def read_token(data: Path) -> str | None:
    """$ARENA_TOKEN, else the admin's token file; None where neither exists or can be read."""
    token = os.environ.get("ARENA_TOKEN")
    if token:
        return token
    try:
        return (service_folder(data) / "admin.token").read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def _path(data: Path) -> Path:
    return service_folder(data) / "service.json"


@contextmanager
def serving_identity(identity: int, data: Path) -> Iterator[str | None]:
    """While a service runs for a data directory of this identity, on this machine and account.

    Yields in words which other one is a copy of it, None when there is none. Each would go on
    alone, and what they store never comes together.
    """
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder = base / f"pbt-arena-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{identity:08x}"
    if folder.stat().st_uid != os.getuid():
        yield None
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.pread(descriptor, 4096, 0).decode(errors="replace")
            yield f"{data} is a copy: another service runs for {other}, with the same identity"
        else:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{data} (process {os.getpid()})".encode(), 0)
            yield None
    finally:
        os.close(descriptor)
