"""The contract of trainers, on which the service relies: lock, status, checkpoints, exit codes.

The real trainer keeps it, and so does the double that the service's tests use.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.data.config_file import write_config
from arena.data.edits import Edits, leave_edits
from arena.data.lock import holder
from arena.data.paths import population_paths
from arena.data.status import RunStatus, read_status
from pbt.config.load import config_from_table
from tests.api.service import HERE

CONFIG: dict[str, Any] = {
    "stop_at_frames": 1_000_000_000,
    "env": {"name": "rock_paper_scissors"},
    "population": {"members": 1},
    "model": {"hidden": [16]},
    "sampling": {"environments": 8, "rollout_steps": 8},
    "learning": {"batch_steps": 64},
    "evaluation": {"final_games": 0},
    "checkpoints": {"every_s": 0.5},
    "runtime": {"placement": "serial"},
}
REAL = (sys.executable, "-P", "-m", "arena.programs.cli")
DOUBLE = (sys.executable, str(HERE / "trainer_double.py"))
LIMIT_S, SAVED_S = 60.0, 15.0
INTERRUPTED = 130


class Trained:
    """One population and the processes that train it."""

    def __init__(self, command: tuple[str, ...], data: Path) -> None:
        self.paths, self._words = (
            population_paths(data, "first"),
            [*command, "train", "--resume", "first", "--data", str(data)],
        )
        self.paths.root.mkdir(parents=True)
        write_config(self.paths, config_from_table(CONFIG, "test"))
        self.processes: list[subprocess.Popen[str]] = []

    def start(self) -> subprocess.Popen[str]:
        """Start a trainer and wait until it reports that it trains."""
        process = self.spawn()
        self.wait(
            lambda: (
                (status := self.status()) is not None
                and status.pid == process.pid
                and not status.ended
            )
        )
        assert holder(self.paths.lock) == process.pid
        return process

    def spawn(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self._words,
            cwd=self.paths.data,  # a trainer leaves a file where it works
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes.append(process)
        return process

    def status(self) -> RunStatus | None:
        return read_status(self.paths.status)

    def newest(self) -> int:
        return max(
            (int(path.name) for path in self.paths.checkpoints.glob("*") if path.name.isdigit()),
            default=0,
        )

    def wait(self, look: Callable[[], object]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not look():
            assert time.monotonic() < deadline, self.status()
            time.sleep(0.02)

    def ended(
        self, process: subprocess.Popen[str], words: str, before: int, within_s: float = SAVED_S
    ) -> None:
        """The trainer saved, reported so, and ended within the time that the service gives it."""
        assert process.wait(within_s) in (0, INTERRUPTED)
        status = self.status()
        assert status is not None and (status.pid, status.ended) == (process.pid, words)
        assert self.newest() > before and holder(self.paths.lock) is None


@pytest.fixture
def trained(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trained]:
    found = Trained(request.param, tmp_path)
    yield found
    for process in found.processes:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("trained", [REAL, DOUBLE], ids=["real", "double"], indirect=True)
def test_what_the_service_relies_on(trained: Trained) -> None:
    first = trained.start()
    # One at a time: a second is refused, and the first goes on.
    assert trained.spawn().wait(LIMIT_S) not in (0, INTERRUPTED)
    assert first.poll() is None
    # It takes an edit while it runs, and reports so.
    leave_edits(trained.paths.edits, Edits(7, ("evaluation.share=0.5",)))
    trained.wait(lambda: (status := trained.status()) is not None and status.edits_taken == 7)
    # Asked to stop.
    before = trained.newest()
    first.send_signal(signal.SIGTERM)
    trained.ended(first, "stopped and saved", before)
    # Killed: its lock is free; the next start does not take edits left for an earlier one.
    second, before = trained.start(), trained.newest()
    trained.wait(lambda: trained.newest() > before)
    second.kill()
    second.wait()
    assert holder(trained.paths.lock) is None
    # The process that started it dies: its standard input ends, and it saves by itself.
    third = trained.start()
    status, before = trained.status(), trained.newest()
    assert status is not None and status.edits_taken in (0, 7)
    assert third.stdin is not None
    third.stdin.close()
    trained.ended(third, "stopped and saved", before)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("trained", [REAL, DOUBLE], ids=["real", "double"], indirect=True)
def test_one_that_reaches_its_stop_says_finished(trained: Trained) -> None:
    write_config(trained.paths, config_from_table({**CONFIG, "stop_at_frames": 200}, "test"))
    (trained.paths.root / "double.json").write_text(json.dumps({"finish_s": 0.2}))
    trained.ended(trained.spawn(), "finished", 0, LIMIT_S)
