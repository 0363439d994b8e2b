"""The processes of one run, found by a mark in their environment and by descent.

So orphans are found, and no foreign process is touched.
"""

import os
import time
from pathlib import Path

import psutil

MARK = "ARENA_TEST_RUN"
SHARED_MEMORY = Path("/dev/shm")


def marked(mark: str) -> list[int]:
    """Pids of the living processes that were started with the mark, or by one that was."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue  # gone meanwhile, or another user's
            if wanted in variables:
                found.append(int(entry.name))
    return sorted(found)


def of_some_run(pid: int) -> bool:
    """It carries a mark."""
    try:
        return f"{MARK}=".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    """Children of a process, theirs, and so on; dead ones that were not waited for included."""
    try:
        return sorted(child.pid for child in psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def of_run(mark: str, main: int | None) -> list[int]:
    """Every process of a run, its main process included, as long as it lives."""
    return sorted({*marked(mark), *(descendants(main) if main is not None else [])})


def alive(pid: int) -> bool:
    """A zombie is not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def is_engine(pid: int) -> bool:
    """It is a game's engine."""
    try:
        return "+viz_instance_id" in psutil.Process(pid).cmdline()
    except psutil.NoSuchProcess:
        return False


def words(pid: int) -> str:
    """What a process is, for a message."""
    try:
        process = psutil.Process(pid)
        return f"{pid} ({process.status()}): {' '.join(process.cmdline())[:120]}"
    except psutil.NoSuchProcess:
        return f"{pid} (gone)"


def survivors(mark: str, main: int | None, limit_s: float) -> list[str]:
    """Wait until no process of the run is left; after limit_s, in words, those that are."""
    deadline = time.monotonic() + limit_s
    while left := [pid for pid in of_run(mark, main) if alive(pid)]:
        if time.monotonic() > deadline:
            return [words(pid) for pid in left]
        time.sleep(0.05)  # polling the process table, with a deadline
    return []


def pss_bytes(pid: int) -> int:
    """Proportional set size: what is shared counts in parts, so it moves when strangers load the
    same libraries. 0 for a process that is gone.
    """
    return _memory(pid).get("Pss", 0)


def own_bytes(pid: int) -> int:
    """What the process itself asked for: heap and stacks, and its part of shared memory; without
    libraries. 0 for a process that is gone.
    """
    memory = _memory(pid)
    return memory.get("Anonymous", 0) + memory.get("Pss_Shmem", 0)


def _memory(pid: int) -> dict[str, int]:
    """Bytes by the kernel's names."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return {}
    return {
        name.rstrip(":"): int(kilobytes) * 1024
        for name, kilobytes, *_ in (line.split() for line in lines)
    }


def descriptors(pid: int) -> int:
    """How many files a process has open; 0 for one that is gone."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def shared_memory_files() -> set[str]:
    return {path.name for path in SHARED_MEMORY.iterdir()} if SHARED_MEMORY.is_dir() else set()


def left_in_shared_memory(before: set[str], limit_s: float = 0.0) -> list[str]:
    """New files in /dev/shm that no living process maps, and that stay for limit_s.

    Files of other users of this machine are in use, or, where a process of theirs was killed in the
    middle of a start, gone within seconds.
    """
    deadline = time.monotonic() + limit_s
    while left := _unused(before):
        if time.monotonic() >= deadline:
            return left
        time.sleep(0.2)  # polling the file system, with a deadline
    return []


def _unused(before: set[str]) -> list[str]:
    new = shared_memory_files() - before
    if not new:
        return []
    in_use: set[str] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "maps").read_text(errors="replace")
            except OSError:
                continue
            in_use |= {name for name in new if f"/dev/shm/{name}" in text}
    return sorted((new & shared_memory_files()) - in_use)
