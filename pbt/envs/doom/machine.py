"""What Doom's engines need of the machine: shared memory in /dev/shm, and file handles."""

import os
import resource
from pathlib import Path

from pbt.envs.doom.strays import SHARED

_PIXEL_BYTES = 4
# Queues and variables of an engine, measured: 36 kB and its screen.
_ENGINE_BYTES = 65_536
# Of the process of a table: of one engine, or of the link to a match.
_TABLE_HANDLES = 4
_OWN_HANDLES = 100


def machine_problems(
    tables: int, engines: int, size: tuple[int, int], shared: Path = SHARED
) -> list[str]:
    """What this machine lacks for a training, one line each.

    tables   that play at the same time
    engines  of one table
    size     (height, width) of a screen, in pixels
    shared   the folder of the system's shared memory
    """
    needed = tables * engines * (size[0] * size[1] * _PIXEL_BYTES + _ENGINE_BYTES)
    problems = []
    if (found := shared_memory_problem(shared)) is not None:
        problems.append(found)
    elif (free := _free_bytes(shared)) < needed:
        problems.append(
            f"sampling.environments = {tables}: their Doom engines need {_mb(needed)} of shared "
            f"memory, and {shared} has {_mb(free)} free; give it more (a container: "
            "--shm-size=1g), or use fewer environments"
        )
    handles, allowed = _OWN_HANDLES + tables * _TABLE_HANDLES, _most_handles()
    if allowed < handles:
        problems.append(
            f"sampling.environments = {tables}: they need up to {handles} open files, and the "
            f"system allows {allowed} for a process; raise the limit (`ulimit -Hn`, or LimitNOFILE "
            "of the service), or use fewer environments"
        )
    return problems


def shared_memory_problem(shared: Path = SHARED) -> str | None:
    """Why Doom's engines cannot talk through this folder; None where they can."""
    if not shared.is_dir():
        found = "is missing"
    elif os.statvfs(shared).f_flag & os.ST_RDONLY or not os.access(shared, os.W_OK):
        found = "may not be written to"
    else:
        return None
    return f"{shared} {found}; Doom's engines talk through it; mount it as a tmpfs for all users"


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _most_handles() -> int:
    """The hard limit: the program raises its own soft limit to it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 2**31 if hard == resource.RLIM_INFINITY else hard


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
