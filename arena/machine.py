"""The machine of a run: its cores, memory and disk, and the versions of the installed packages.

Cores and memory are read from the process's own limits, because a container lends only a part of
the machine.
"""

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

_UNLIMITED = 1 << 60
CGROUP = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """The cores that this process may use, by CPU affinity and cgroup quota; at least 1."""
    allowed = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    quota = cpu_quota()
    return max(1, min(allowed, int(quota))) if quota is not None else allowed


def cpu_quota(cgroup: Path = CGROUP) -> float | None:
    """The cores that a cgroup (v2, else v1) grants, None where it sets no limit."""
    v2 = _read(cgroup / "cpu.max").split()
    if len(v2) == 2 and v2[0] != "max":
        return int(v2[0]) / int(v2[1])
    quota, period = _read(cgroup / "cpu/cpu.cfs_quota_us"), _read(cgroup / "cpu/cpu.cfs_period_us")
    return int(quota) / int(period) if quota and period and int(quota) > 0 else None


def memory_bytes(
    cgroup: Path = CGROUP, total: Callable[[], int] = lambda: psutil.virtual_memory().total
) -> int:
    """The memory of the machine in bytes, or the cgroup's limit where that is lower."""
    limits = (_read(cgroup / "memory.max"), _read(cgroup / "memory/memory.limit_in_bytes"))
    return min(
        [total(), *(int(limit) for limit in limits if limit.isdigit() and int(limit) < _UNLIMITED)]
    )


def existing_parent(path: Path) -> Path:
    """The path itself, or the nearest folder above it that exists."""
    return next(place for place in (path, *path.parents) if os.path.exists(place))


def free_disk_bytes(path: Path) -> int:
    return shutil.disk_usage(existing_parent(path)).free


def file_system(path: Path) -> str:
    """The type of the file system that holds `path`: "ext4", "nfs4", ... "" where it is unknown."""
    path = existing_parent(path).resolve()
    mounts = [
        mount for mount in psutil.disk_partitions(all=True) if path.is_relative_to(mount.mountpoint)
    ]
    return max(mounts, key=lambda mount: len(mount.mountpoint)).fstype if mounts else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


VERSIONED = ("pbt-arena", "torch", "numpy", "pettingzoo", "gymnasium")


def versions() -> dict[str, str]:
    """Package -> version, for the packages that are installed. It imports none of them."""
    installed = {"python": platform.python_version()}
    for package in VERSIONED:
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed
