"""Real processes that die, hang, fall silent and are orphaned: all is noticed, none is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pbt.processes.messages import Failed
from pbt.runtime import process_group
from pbt.runtime.control import GameError, Go, Ready
from pbt.runtime.placements import ProcessPlan, Shard
from pbt.runtime.process_group import ProcessGroup
from pbt.transport.fifo import fifo_kinds
from pbt.transport.memory import Region
from pbt.transport.process_board import PHASES, ProcessBoard, board_bytes
from tests.pbt.runtime.group_programs import PROGRAM, REPOSITORY, assignment

SILENT_AFTER_S = 2.0
LIMITS_S = {"game": 0.4, "learning": 0.4}
PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def _program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Children are the made-up ones, and are started in a folder of a careless user's."""
    monkeypatch.setattr(ProcessGroup, "program", PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    for name in ("arena", "pbt", "tests", "torch", "signal"):
        (tmp_path / f"{name}.py").write_text(
            "raise SystemExit('a module of the user was imported')"
        )
    monkeypatch.chdir(tmp_path)


class Staff:
    """A group of such processes; those whose names begin with "plane" are its sampling plane."""

    def __init__(self, *whats: str) -> None:
        self.region = Region.create("board", board_bytes(len(whats)))
        plans = [
            ProcessPlan(what, groups=(0,))
            if what.startswith("plane")
            else ProcessPlan(what, trains=(Shard(what),))
            for what in whats
        ]
        self.group = ProcessGroup(
            plans, ProcessBoard(len(whats), self.region), SILENT_AFTER_S, LIMITS_S
        )
        self.heard: list[tuple[str, Any]] = []
        self.pids: dict[str, int] = {}
        self.start(*whats)

    def start(self, *whats: str) -> None:
        names = list(self.group.plans)
        orders = {
            what: assignment(
                what.removeprefix("plane_"), board=[self.region.fd, len(names), names.index(what)]
            )
            for what in whats
        }
        self.group.start({what: (order, [self.region.fd]) for what, order in orders.items()})
        self.pids |= {what: self.group.children[what].pid for what in whats}
        assert not any(self.group.is_ready(what) for what in whats) and all(
            self.group.reachable(what) for what in whats
        )
        self.until(lambda: all(self.group.is_ready(what) for what in whats))

    def until(self, happened: Callable[[], bool]) -> None:
        """Hear until then."""
        deadline = time.monotonic() + PATIENCE_S
        while not happened():
            assert time.monotonic() < deadline, (self.group.troubles(), self.heard[-3:])
            for name, message in self.group.hear(0.02):
                self.heard.append((name, message))
                if isinstance(message, Ready):
                    self.group.children[name].ready = True

    def trouble(self, name: str) -> str:
        """What is wrong with the process, as soon as something is."""
        domain = self.group.domain_of(name)
        self.until(lambda: domain in self.group.troubles())
        return self.group.troubles()[domain]

    def left(self) -> list[int]:
        """Processes that were started and are still there, dead or alive."""
        return [pid for pid in self.pids.values() if psutil.pid_exists(pid)]


@pytest.fixture
def staff() -> Iterator[Callable[..., Staff]]:
    hired: list[Staff] = []

    def hire(*whats: str) -> Staff:
        hired.append(Staff(*whats))
        return hired[-1]

    yield hire
    for one in hired:
        one.group.close()
        one.region.close()
        assert one.left() == [], "not even a zombie"


def test_how_a_process_ended_is_said_and_its_last_words_are_heard(
    staff: Callable[..., Staff],
) -> None:
    one = staff("idle", "exit", "hang_up", "fail", "plane_idle", "plane_last_words")
    for name in one.group.plans:
        one.group.send(name, Go())
    assert one.trouble("exit") == f"exit (pid {one.pids['exit']}) exited with status 3"
    assert one.trouble("hang_up") == "hang_up closed its channel"
    assert one.trouble("fail") == "fail failed: ValueError: made up"
    assert (
        one.trouble("plane_last_words")
        == f"plane_last_words (pid {one.pids['plane_last_words']}) was killed by SIGKILL"
    )
    assert set(one.group.troubles()) == {
        ("exit",),
        ("hang_up",),
        ("fail",),
        ("plane_idle", "plane_last_words"),
    }, "the others are well"

    heard = [
        message
        for name, message in one.heard
        if name == "plane_last_words" and isinstance(message, GameError)
    ]
    heard += [message for _, message in one.group.bury(one.group.domains[0])]
    assert [int(message.place) for message in heard] == list(range(500)), (
        "everything that it said, in order"
    )
    assert not psutil.pid_exists(one.pids["plane_idle"]), "the plane dies as a whole"
    assert {name: count for name, count in one.group.restarts.items() if count} == {
        "plane_idle": 1,
        "plane_last_words": 1,
    }
    assert not one.group.reachable("plane_idle") and not one.group.is_ready("plane_idle")
    one.group.send("plane_idle", Go())
    (trace,) = (
        message.trace
        for name, message in one.heard
        if name == "fail" and isinstance(message, Failed)
    )
    assert "raise ValueError" in trace

    os.kill(one.pids["idle"], signal.SIGTERM)
    one.start("plane_idle")
    assert ("idle",) not in one.group.troubles(), "that is for the main process to decide"
    assert one.group.is_ready("plane_idle")


def test_silence_and_endless_phases_are_found_and_everybody_can_be_ended(
    staff: Callable[..., Staff], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = staff("idle", "busy", "game", "learning", "on_channel")
    for name in one.group.plans:
        one.group.send(name, Go())
    assert one.trouble("game").startswith(f"game (pid {one.pids['game']}) has been game for ")
    assert one.trouble("game").endswith(
        "at table 7: the game's code does not return (env.timeout_s)"
    )
    assert one.trouble("learning").startswith(
        f"learning (pid {one.pids['learning']}) has been learning for "
    )

    os.kill(one.pids["on_channel"], signal.SIGSTOP)
    stopped_s = time.monotonic()
    assert "gave no sign of life for 2." in one.trouble("on_channel")
    assert time.monotonic() - stopped_s < SILENT_AFTER_S + 1.0
    assert set(one.group.troubles()) == {("game",), ("learning",), ("on_channel",)}, (
        "a process that computes or waits is well"
    )

    one.group.children["idle"].ready = False
    monkeypatch.setattr(process_group, "START_TIMEOUT_S", 0.0)
    assert (
        one.group.troubles()["idle",]
        == "idle did not get ready within 0 s; use fewer workers (runtime.workers)?"
    )

    monkeypatch.setattr("pbt.transport.child.STOP_TIMEOUT_S", 1.0)
    closing_s = time.monotonic()
    one.group.close()
    assert one.left() == [] and not one.group.children
    assert time.monotonic() - closing_s < 4.0
    one.group.close()


def test_a_process_stopped_within_a_games_code_is_not_given_the_games_time(
    staff: Callable[..., Staff], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LIMITS_S, "game", 3600.0)
    one = staff("game")
    one.group.send("game", Go())
    row = one.group.rows["game"]
    one.until(lambda: row.read()["phase"] == PHASES.index("game"))
    os.kill(one.pids["game"], signal.SIGSTOP)
    stopped_s = time.monotonic()
    assert one.trouble("game").endswith(": it is stopped")
    assert time.monotonic() - stopped_s < process_group.STOPPED_AFTER_S + 1.0
    list(one.group.bury(("game",)))


def test_what_a_games_code_started_ends_with_its_process(staff: Callable[..., Staff]) -> None:
    one = staff("engine")
    one.group.send("engine", Go())
    child = psutil.Process(one.pids["engine"])
    one.until(lambda: bool(child.children()))
    (engine,) = child.children()
    child.kill()
    assert one.trouble("engine").endswith("was killed by SIGKILL")
    engine.wait(5.0)


def test_a_run_that_was_stopped_as_a_whole_goes_on(
    staff: Callable[..., Staff], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Ctrl-Z and fg: the main process does not look for a while either.

    When it looks again it takes no process for dead.
    """
    one = staff("on_channel")
    one.group.send("on_channel", Go())
    one.group.troubles()
    os.kill(one.pids["on_channel"], signal.SIGSTOP)
    stopped_s = time.monotonic()
    real = time.monotonic
    monkeypatch.setattr(process_group.time, "monotonic", lambda: real() + 60.0)
    assert one.group.troubles() == {}, "a minute later"
    os.kill(one.pids["on_channel"], signal.SIGCONT)
    monkeypatch.setattr(process_group.time, "monotonic", real)
    one.until(lambda: real() - stopped_s > SILENT_AFTER_S / 2)
    assert one.group.troubles() == {}


def heard(parent: "subprocess.Popen[str]") -> list[str]:
    assert parent.stdout is not None
    return parent.stdout.readline().split()


def go_on(parent: "subprocess.Popen[str]") -> None:
    assert parent.stdin is not None
    parent.stdin.write("\n")
    parent.stdin.flush()


def test_children_leave_signals_to_their_parent_and_follow_it(tmp_path: Path) -> None:
    """Children do so whatever they are busy with.

    A whole group is interrupted while they start, and again when they work.
    """
    command = [sys.executable, "-P", "-m", PROGRAM, "parent", "busy", "on_channel", *fifo_kinds()]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        try:
            word, *pids = heard(parent)
            assert word == "pids"
            processes = [psutil.Process(int(pid)) for pid in pids]
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
                os.killpg(parent.pid, number)
            go_on(parent)
            assert heard(parent) == ["ready"]
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
                os.killpg(parent.pid, number)
            go_on(parent)
            assert heard(parent) == ["working"]
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
                os.killpg(parent.pid, number)
            assert all(
                process.is_running() and process.status() != psutil.STATUS_ZOMBIE
                for process in processes
            )
        finally:
            parent.kill()
        _, left = psutil.wait_procs(processes, timeout=2.0)
        assert [process for process in left if process.status() != psutil.STATUS_ZOMBIE] == []
