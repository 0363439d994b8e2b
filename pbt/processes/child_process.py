"""A child process: it is started in a group of its own, killed with that group, and its end told.

Everything that starts a program and outlives the call does it through this: the processes of a
run, helpers of a match, Doom matches, guests, and what the service starts. Needs no torch.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

KILL_TIMEOUT_S = 5.0
_LOOK_EVERY_S = 0.005


class Forked:
    """A child of this process that another one has forked, with what is used of `Popen`.

    returncode  None until its end was seen
    """

    stdin: IO[Any] | None = None
    stdout: IO[Any] | None = None
    stderr: IO[Any] | None = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._reaping = threading.Lock()

    def poll(self) -> int | None:
        """Its exit code once it has ended, negative for a signal; it is reaped then."""
        with self._reaping:
            if self.returncode is None:
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:
                    # Other code of this process has reaped it; `Popen` says the same then.
                    pid, status = self.pid, 0
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Its exit code. Raises: TimeoutExpired."""
        until_s = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() >= until_s:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(_LOOK_EVERY_S)
        return code

    def terminate(self) -> None:
        """Send it SIGTERM, unless it was reaped."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


class ChildProcess:
    """A process that leads a group of its own, so that `kill` ends what it started as well.

    stdin, stdout, stderr  its pipes, where they were asked for
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        session: bool = False,
        stdin: int | IO[Any] = subprocess.DEVNULL,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        buffered: bool = True,
        descriptors: Iterable[int] = (),
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        blocked: Iterable[signal.Signals] = (),
    ) -> None:
        """Start it.

        session      it leads a session as well: a terminal's signals do not reach it
        buffered     its pipes are files with buffers here, as `open` makes them
        descriptors  stay open in it, under the same numbers
        environment  all of it; None: this process's
        folder       its working directory; None: this process's
        blocked      signals that it starts with blocked, until it has its handlers
        Raises: OSError when it cannot be started.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        try:
            popen = subprocess.Popen(
                list(command),
                bufsize=-1 if buffered else 0,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=tuple(descriptors),
                env=environment,
                cwd=folder,
                start_new_session=session,
                process_group=None if session else 0,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._adopt(popen)

    def _adopt(self, process: "subprocess.Popen[bytes] | Forked") -> None:
        """Be this process, which was started and leads its group."""
        self._popen, self.pid = process, process.pid
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr

    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        # `poll` says None of an ended process, too, while another thread waits for it.
        return self.wait(KILL_TIMEOUT_S) if self.has_ended() else None

    def has_ended(self) -> bool:
        """Look without reaping it: its pid stays its own until `wait` or `exit_code`."""
        if self._popen.returncode is not None:
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True  # other code of this process has reaped it

    def wait(self, timeout_s: float) -> int | None:
        """Its exit code once it has ended; None when it still runs after timeout_s."""
        with suppress(subprocess.TimeoutExpired):
            return self._popen.wait(timeout_s)
        return None

    def terminate(self) -> None:
        """Ask it, and it alone, to leave (SIGTERM)."""
        self._popen.terminate()

    def kill(self, timeout_s: float = KILL_TIMEOUT_S) -> int | None:
        """End its whole group and reap it; returns its exit code.

        None when it is still there after timeout_s, stuck in the kernel. Never raises.
        """
        if self._popen.returncode is None:
            kill_group(self.pid)
        return self.wait(timeout_s)


def kill_group(leader: int) -> None:
    """End a process that leads a group, and everything in that group."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def ending(code: int) -> str:
    """How a process with this exit code ended: "was killed by SIGKILL", "exited with status 3"."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with status {code}"
