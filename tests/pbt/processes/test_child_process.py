"""A child process: it starts, it is ended with all that it started, and its end is told."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from pbt.processes.child_process import ChildProcess, ending

# Prints the pid of a grandchild in its own group, then sleeps.
PARENT = (
    "import subprocess, sys, time; "
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)']); "
    "print(child.pid, flush=True); "
    "time.sleep(300)"
)


def python(code: str, **options: object) -> ChildProcess:
    return ChildProcess([sys.executable, "-c", code], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("session", [False, True])
def test_what_it_started_ends_with_it(session: bool) -> None:
    child = python(PARENT, session=session, stdout=subprocess.PIPE)
    assert child.stdout is not None
    grandchild = psutil.Process(int(child.stdout.readline()))
    assert child.exit_code() is None and not child.has_ended() and child.wait(0.01) is None
    assert child.kill() == -signal.SIGKILL == child.kill()
    psutil.wait_procs([grandchild], timeout=20.0)
    assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE
    child.stdout.close()


def test_its_pid_stays_its_own_until_it_is_reaped() -> None:
    child = python("raise SystemExit(3)")
    until_s = time.monotonic() + 20.0
    while not child.has_ended():
        assert time.monotonic() < until_s
    assert psutil.pid_exists(child.pid)
    assert child.wait(20.0) == child.exit_code() == 3 and child.has_ended()


def test_its_end_shows_while_another_thread_waits_for_it() -> None:
    """That thread holds the lock of `subprocess.Popen` whenever it looks."""
    for _ in range(5):
        child = python("import sys; sys.stdin.read()", stdin=subprocess.PIPE)
        waiting = [threading.Thread(target=child.wait, args=(20.0,)) for _ in range(3)]
        for thread in waiting:
            thread.start()
        assert child.exit_code() is None and child.stdin is not None
        child.stdin.close()
        deadline_s = time.monotonic() + 20.0
        while not child.has_ended():
            assert time.monotonic() < deadline_s
        assert child.exit_code() == 0
        for thread in waiting:
            thread.join()


def test_it_starts_with_signals_blocked_where_told_to_and_its_parent_does_not_stay_so() -> None:
    show = "import signal; print(*sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    child = python(show, stdout=subprocess.PIPE, blocked=[signal.SIGINT, signal.SIGTERM])
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.read().split() == [b"2", b"15"]
    assert child.wait(20.0) == 0
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_program_that_is_not_there_is_an_error_and_signals_are_as_before(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="none"):
        ChildProcess([str(tmp_path / "none")], blocked=[signal.SIGTERM])
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_the_end_in_words() -> None:
    assert ending(-9) == "was killed by SIGKILL" and ending(3) == "exited with status 3"
