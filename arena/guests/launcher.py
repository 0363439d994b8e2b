"""Runs a guest, and kills it with all its descendants.

It is started as `python -I -S launcher.py PARENT PROGRAM [ARGUMENT ...]`. It kills them when the
program ends, on SIGTERM, and when the match that started it dies in any way. Descendants that moved
to another process group or lost their parent are killed, too. The standard streams belong to the
program alone.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
CANNOT_EXECUTE = 126


def run(parent: int, command: list[str]) -> int:
    """Returns the program's exit code, negative for the signal that killed it."""
    signal.signal(signal.SIGTERM, _leave)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return 1
    try:
        launcher, guest = os.getpid(), os.fork()
        if guest == 0:
            _become(launcher, command)
        for stream in (0, 1, 2):
            os.close(stream)
        while True:
            child, status = os.wait()
            if child == guest:
                return os.waitstatus_to_exitcode(status)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _kill_descendants()


def _become(launcher: int, command: list[str]) -> NoReturn:
    try:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != launcher:
            os._exit(1)
        os.setpgid(0, 0)
        # Python ignores SIGPIPE, and ignored signals stay so in the program.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execv(command[0], command)  # noqa: S606  what the user named, without a shell
    except OSError as error:
        why = (
            "; a script's first line must name its interpreter, such as #!/usr/bin/env python3"
            * (error.strerror == "Exec format error")
        )
        os.write(2, f"cannot execute {command[0]}: {error.strerror}{why}\n".encode())
    finally:
        os._exit(CANNOT_EXECUTE)


def _kill_descendants() -> None:
    """Orphans of the killed become children of this process (it is their reaper), so this ends
    when there are none left.
    """
    while True:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as children:
                running = children.read().split()
        except OSError:
            # A kernel that does not list them; the program itself has a death signal.
            return
        for child in running:
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _leave(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    code = run(int(sys.argv[1]), sys.argv[2:])
    if code < 0:
        # This process ends as the program did, so that its parent sees the same exit status.
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)
