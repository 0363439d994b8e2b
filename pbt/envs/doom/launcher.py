"""Becomes the Doom engine: ViZDoom executes this program in place of its engine.

`python -I -S launcher.py PARENT FOLDER PRELOAD ENGINE [argument ...]`. Without it an engine
outlives the program that started it, answers that program's Ctrl-C, holds its open files and writes
into its working directory.
"""

import ctypes
import os
import signal
import sys

ENGINE_LOG = "engine.log"
"""Name of the file in the engine's folder that takes what the engine prints."""
_PR_SET_PDEATHSIG = 1


def become_engine(
    parent: int, folder: str, preload: str, engine: str, arguments: list[str]
) -> None:
    """Prepare this process and execute the engine in it.

    parent   pid of the process to die with
    folder   an empty folder of this engine's own
    preload  path of a library to load into the engine, or empty
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    # These signals are for the program, which ends its engines itself, or by its death.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.chdir(folder)
    log = os.open(ENGINE_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, max(int(number) for number in os.listdir("/proc/self/fd")) + 1)
    # Dozens of engines take turns on a core. With huge pages each finds more of its memory still
    # mapped, which saves some 4 % of a step.
    environment = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", **os.environ}
    if preload:
        # In a path the loader would take a space or a colon for the end, so it gets a link.
        os.symlink(preload, "preload.so")
        environment["LD_PRELOAD"] = "./preload.so"
    # The engine itself, without a shell.
    os.execve(engine, [engine, *arguments], environment)  # noqa: S606


if __name__ == "__main__":
    become_engine(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
