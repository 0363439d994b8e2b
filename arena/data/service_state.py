"""Where the service of a data directory answers: a small file it writes, and a lock that says
whether it can be believed. Needs no torch.
"""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from arena.data.lock import holder
from pbt.files import write_whole


@dataclass(frozen=True)
class ServiceState:
    """url: as this machine reaches it;  started_at: seconds since 1970"""

    pid: int
    url: str
    started_at: float
    version: str


def service_folder(data: Path) -> Path:
    return data / "service"


def service_lock(data: Path) -> Path:
    """Held by the service as long as it lives."""
    return service_folder(data) / "lock"


def write_state(data: Path, state: ServiceState) -> None:
    path = _path(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(state)))


def remove_state(data: Path) -> None:
    with suppress(FileNotFoundError):
        _path(data).unlink()


def read_state(data: Path) -> ServiceState | None:
    """Of a service that lives; None for one that is gone, whatever file it left."""
    pid = holder(service_lock(data))
    if pid is None:
        return None
    try:
        state = ServiceState(**json.loads(_path(data).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return state if state.pid == pid else None


def read_token(data: Path) -> str | None:
    """$ARENA_TOKEN, else the admin's token file; None where neither is there, or may be read."""
    given = os.environ.get("ARENA_TOKEN")
    if given:
        return given
    try:
        return (service_folder(data) / "admin.token").read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def _path(data: Path) -> Path:
    return service_folder(data) / "service.json"
