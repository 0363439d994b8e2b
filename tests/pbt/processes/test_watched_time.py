"""A limit counts the time that was watched, not the time that a stopped process slept."""

import os
import signal
import subprocess
import sys
import time

import pytest

from pbt.processes.watched_time import LOOK_EVERY_S, WatchedTime

# It watches for 0.6 s, and says how much it counted.
WATCHER = """
import time
from pbt.processes.watched_time import WatchedTime
watched = WatchedTime()
print("begun", flush=True)
while (slice_s := watched.slice_s(0.6)) > 0:
    time.sleep(slice_s)
print(watched.look(), flush=True)
"""


def test_time_that_passes_between_looks_counts() -> None:
    watched = WatchedTime()
    time.sleep(0.05)
    assert 0.05 <= watched.look() <= LOOK_EVERY_S


def test_a_long_gap_counts_as_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, now_s = WatchedTime(), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s + 3600)
    assert watched.look() == LOOK_EVERY_S
    assert watched.slice_s(1.0) == LOOK_EVERY_S
    assert watched.slice_s(0.2) == 0.0


def test_a_watcher_that_looks_less_often_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    watched = WatchedTime(2.0)
    monkeypatch.setattr(time, "monotonic", lambda: now_s + 1.5)
    assert watched.look() == pytest.approx(1.5)
    monkeypatch.setattr(time, "monotonic", lambda: now_s + 100.0)
    assert watched.look() == pytest.approx(3.5)


def test_a_process_that_was_stopped_watches_on_for_its_whole_limit() -> None:
    command = [sys.executable, "-c", WATCHER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        began_s = time.monotonic()
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1.0)
        os.kill(process.pid, signal.SIGCONT)
        counted = float(process.stdout.readline())
        # The second that it slept counts as one look.
        assert time.monotonic() - began_s > 1.0 + 0.6 - 2 * LOOK_EVERY_S
        assert 0.6 <= counted <= 0.6 + 2 * LOOK_EVERY_S
