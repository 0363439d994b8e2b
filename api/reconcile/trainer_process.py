"""A training's process, as the service starts it, asks it to stop, kills it and reads its end."""

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from arena.data.ending import NAME as ENDING_NAME
from arena.data.ending import Ending, read_ending
from pbt.processes.child_process import ChildProcess, ending, kill_group

LOG_NAME = "service.log"
LOG_KEEP_BYTES = 1 << 20
TAIL_BYTES = 1 << 16
CGROUP_EVENTS = Path("/sys/fs/cgroup/memory.events")
FOLDERS_BELOW_DATA = 3
"""The log of a process, in whose folder it works, stands no deeper: populations/NAME/logs."""
LONGEST_LOOK_S = 2.0
"""After a longer gap between two looks the service was stopped; its processes may have been too."""


class Trainer:
    """A training in a session of its own, on a leash (`arena.programs.leash`).

    When this process ends, its standard input ends, and it saves and stops. Its own processes end
    with it (`pbt.processes.tie_to_parent`). The output of all of them goes to `log`.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        _shorten(log)
        (log.parent / ENDING_NAME).unlink(missing_ok=True)
        with log.open("ab") as output:
            self._offset = output.tell()
            self._process = ChildProcess(
                command,
                session=True,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                folder=log.parent,
            )
        self.log = log
        self._oom_kills = oom_kills()
        self.identity = identity(self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        code = self._process.exit_code()
        if code is not None and self._process.stdin is not None:
            self._process.stdin.close()
        return code

    def stop(self) -> None:
        """Ask it to save and stop."""
        if self._process.exit_code() is None:
            self._process.terminate()

    def kill(self) -> None:
        """End it and everything of its group; `exit_code` tells when it is gone."""
        if self._process.exit_code() is None:
            kill_group(self.pid)

    def ran_out_of_memory(self) -> bool:
        """True when the kernel has killed a process of this cgroup for memory since the start."""
        return oom_kills() > self._oom_kills

    def ending(self) -> Ending | None:
        """What it has left on the error that ended it, None where that was no error of its own."""
        return read_ending(self.log.parent, self.pid)

    def output(self, lines: int) -> list[str]:
        """The newest lines that it has printed since this start."""
        return tail(self.log, lines, self._offset)


def identity(pid: int) -> str | None:
    """Return an identity that no later process can share: pid, boot id and start time.

    None when there is no such process.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *rest = stat.rpartition(")")[2].split()
    return None if state in "ZX" else f"{pid} {boot} {rest[18]}"


def oom_kills(events: Path = CGROUP_EVENTS) -> int:
    """Number of processes that the kernel killed for memory in this cgroup; 0 if not counted."""
    try:
        lines = events.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def at_work(known: str, data: Path) -> int | None:
    """The pid of the process with this identity, None when it is gone (or waits to be reaped).

    None also when its working directory is not in `data`. Every process of a service works below
    its data directory, and a copy of that directory names the processes of the original.
    """
    pid = int(known.partition(" ")[0])
    return pid if identity(pid) == known and _works_in(pid, data) else None


def _works_in(pid: int, data: Path) -> bool:
    """Whether the working directory of the process is in a folder, whatever both are called now."""
    place = f"/proc/{pid}/cwd"
    with suppress(OSError):
        for _ in range(FOLDERS_BELOW_DATA + 1):
            if os.path.samefile(place, data):
                return True
            place += "/.."
    return False


def tail(path: Path, lines: int, offset: int = 0) -> list[str]:
    """The newest lines of a file, from `offset` on; [] where there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(0, min(offset, size), size - TAIL_BYTES)
            file.seek(start)
            text = file.read().decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [line for line in text.replace("\r", "\n").split("\n") if line.strip()][-lines:]


def complaint(lines: Sequence[str], code: int) -> str:
    """Why a process ended: the signal that ended it, else the last error that it wrote, else its
    last words, else its exit code.
    """
    errors = [line for line in lines if line.startswith("error")]
    if code < 0:
        return f"its process {ending(code)}"
    return (errors or list(lines) or [f"its process {ending(code)}"])[-1].removeprefix("error: ")


def _shorten(log: Path) -> None:
    """Keep one older log beside it."""
    with suppress(FileNotFoundError):
        if log.stat().st_size > LOG_KEEP_BYTES:
            log.replace(log.with_suffix(".log.1"))
