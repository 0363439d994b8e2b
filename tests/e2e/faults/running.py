"""A real training from outside: `arena train` as a process with its own data directory, HOME and
TMPDIR, watched through the status it writes.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from arena.data.paths import league_path, population_paths
from arena.data.status import RunStatus, look, read_status
from pbt.checkpoint.files import Checkpoint, read_newest
from pbt.errors import CheckpointError
from tests.e2e.faults import processes
from tests.e2e.faults.league_log import LeagueLog

NAME = "run"
GONE_WITHIN_S = 5.0
START_LIMIT_S, STOP_LIMIT_S = 120.0, 150.0
POLL_S = 0.05

T = TypeVar("T")


class Run:
    """One population and everything it leaves behind. After `close` nothing of it is alive,
    whatever happened.

    folder: made for it; `data`, `home`, `tmp` and the outputs of its starts lie there
    """

    def __init__(self, folder: Path, config: str, **variables: str) -> None:
        self.folder, self.data, self.tmp = folder, folder / "data", folder / "tmp"
        for path in (self.data, self.tmp, folder / "home"):
            path.mkdir(parents=True)
        self.config = folder / f"{NAME}.toml"
        self.config.write_text(config, encoding="utf-8")
        self.mark = uuid.uuid4().hex
        own = {processes.MARK: self.mark, "HOME": str(folder / "home"), "TMPDIR": str(self.tmp)}
        self._variables = {**os.environ, **own, **variables}
        self.paths = population_paths(self.data, NAME)
        self.starts = 0
        self.main: subprocess.Popen[bytes] | None = None
        self._in_shared_memory = processes.shared_memory_files()
        self.log = LeagueLog(league_path(self.data), folder / "acknowledged.log")
        self.log.__enter__()

    # --- starting and ending ----------------------------------------------------------------------

    def start(self, *settings: str) -> None:
        self._arena(
            "train",
            str(self.config),
            "--name",
            NAME,
            *(word for setting in settings for word in ("--set", setting)),
        )

    def resume(self, *settings: str) -> None:
        self._arena(
            "train",
            "--resume",
            NAME,
            *(word for setting in settings for word in ("--set", setting)),
        )

    def _arena(self, *words: str) -> None:
        self.starts += 1
        # These tests may themselves run under nohup, whose children leave a closed terminal alone.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        command = [sys.executable, "-P", "-m", "arena", *words, "--data", str(self.data), "--json"]
        # Files, not pipes: no writer waits for a reader, and an orphan that holds one does not keep
        # this process waiting.
        with (
            (self.folder / f"{self.starts}.out").open("wb") as out,
            (self.folder / f"{self.starts}.err").open("wb") as err,
        ):
            # A group of its own, as a shell makes for each command: Ctrl-C can be sent to all of
            # it.
            self.main = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=self.folder,
                env=self._variables,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        assert self.main is not None
        return self.main.pid

    def wait(self, limit_s: float = STOP_LIMIT_S) -> int:
        """The exit code."""
        assert self.main is not None
        try:
            return self.main.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"the training did not end within {limit_s:g} s\n{self.report()}"
            ) from None

    def stop(self) -> int:
        """As `arena stop` does; the exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.wait()

    def signal_group(self, number: signal.Signals) -> None:
        """To every process of the run, as a terminal does for Ctrl-C and a service manager for
        its stop.
        """
        os.killpg(self.pid, number)

    def close(self) -> None:
        for pid in processes.of_run(self.mark, self.main.pid if self.main is not None else None):
            if processes.alive(pid):
                os.kill(pid, signal.SIGKILL)
        if self.main is not None:
            self.main.wait()
        self.log.__exit__(None, None, None)

    def arena(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Another command on the same data."""
        command = [sys.executable, "-P", "-m", "arena", *words, "--data", str(self.data)]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=self.folder,
            env=self._variables,
            check=False,
        )

    # --- looking ----------------------------------------------------------------------------------

    def status(self) -> RunStatus | None:
        """What the present start says of itself; None before its first word."""
        status = read_status(self.paths.status)
        return (
            status
            if status is not None and self.main is not None and status.pid == self.main.pid
            else None
        )

    def tables(self) -> int:
        """How many games are played at the same time."""
        environments: int = json.loads(self.paths.config.read_text(encoding="utf-8"))["sampling"][
            "environments"
        ]
        return environments

    def output(self) -> Mapping[str, Any]:
        """The one line of JSON that a start ends with."""
        lines = (self.folder / f"{self.starts}.out").read_text(encoding="utf-8").splitlines()
        result: Mapping[str, Any] = json.loads(lines[-1])
        return result

    def errors(self) -> str:
        return (self.folder / f"{self.starts}.err").read_text(encoding="utf-8")

    def newest_checkpoint(self) -> Checkpoint | None:
        try:
            return read_newest(self.paths.checkpoints)[0]
        except CheckpointError:
            return None

    def resumed_clocks(self) -> dict[str, int]:
        """Member -> frames with which the newest resume went on, as its curves say; {} before
        any.
        """
        lines = (self.paths.metrics / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        resumes = [json.loads(line)["resume"] for line in lines if '"resume":' in line]
        return dict(resumes[-1]) if resumes else {}

    def report(self) -> str:
        """Everything that helps to see why something did not happen."""
        status = self.status()
        logs = [
            path.read_text(encoding="utf-8").splitlines()[-15:]
            for path in sorted(self.paths.logs.glob("*.log"))[-1:]
        ]
        alive = [processes.words(pid) for pid in processes.of_run(self.mark, self.pid)]
        age = "" if status is None else f", {time.time() - status.written_at:.1f} s old"
        found = [
            f"start {self.starts}, folder {self.folder}",
            f"status{age}: {status}",
            "processes:",
            *alive,
            "errors:",
            self.errors()[-3000:],
            "log:",
        ]
        return "\n".join([*found, *(line for lines in logs for line in lines)])

    def until(self, what: Callable[[], T | None], limit_s: float, expected: str) -> T:
        """Poll until it is there. Raises: AssertionError that says what was expected; also when
        the training ends meanwhile.
        """
        deadline = time.monotonic() + limit_s
        while True:
            ended = self.main is not None and self.main.poll() is not None
            if (found := what()) is not None:
                return found
            if ended or time.monotonic() > deadline:
                why = (
                    f"the training ended with {self.main.returncode}"
                    if ended and self.main is not None
                    else f"not within {limit_s:g} s"
                )
                raise AssertionError(f"expected {expected}: {why}\n{self.report()}")
            time.sleep(POLL_S)

    def wait_for_end_of_flag(self, flag: Path, limit_s: float) -> float:
        """The moment at which a game took the flag and began to misbehave."""
        return self.until(
            lambda: None if flag.exists() else time.monotonic(),
            limit_s,
            f"a game that takes the flag {flag.name}",
        )

    # --- checks -----------------------------------------------------------------------------------

    def left_behind(self) -> list[str]:
        """Processes alive some seconds after the end, files in shared memory and in TMPDIR."""
        found = [
            f"process of the run after {GONE_WITHIN_S:g} s: {line}"
            for line in processes.survivors(self.mark, self.pid, GONE_WITHIN_S)
        ]
        found += [
            f"left in /dev/shm: {name}"
            for name in processes.left_in_shared_memory(self._in_shared_memory, GONE_WITHIN_S)
        ]
        found += [
            f"left in TMPDIR: {path.relative_to(self.tmp)}" for path in sorted(self.tmp.rglob("*"))
        ]
        if (holder := look(self.paths, NAME).pid) is not None:
            found.append(f"process {holder} still holds the population")
        return found

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
