"""What is decided about a job, and why its process ended: pure."""

import os
import signal
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
import torch

from api.reconcile.rules import (
    Disk,
    End,
    How,
    Room,
    Ruling,
    Seen,
    Wanted,
    backoff_s,
    decide,
    outcome,
    why_it_ended,
)
from api.routes.bodies import State
from arena.data.ending import ending_of, leave_ending, read_ending
from arena.data.paths import PopulationPaths
from arena.league.operations import Kind
from arena.league.supervised import Desired
from arena.training.start import config_in_force
from pbt.checkpoint.files import read_newest
from pbt.errors import (
    BrokenGameError,
    EnvError,
    FailedMembersError,
    HeldError,
    PbtError,
    SnapshotError,
    StoppedError,
)
from pbt.snapshots import FileSnapshotStore

REST, ROOM = Seen(grace_s=10), Room()
RUNNING = replace(REST, running=True, ready=True)
STATES = get_args(State)


def every() -> list[tuple[Wanted, Seen, Room]]:
    """Every case without an end of the process."""
    wanted: list[Desired | None] = [None, *get_args(Desired)]
    cases = [
        Seen(
            running,
            ready and running,
            outside,
            leaving,
            asked if running else None,
            10,
            edited and running,
            wait,
            ends,
        )
        for running, ready, outside, leaving, asked, edited, wait, ends in product(
            (False, True),
            (False, True),
            (None, 7),
            (False, True),
            (None, 1.0, 11.0),
            (False, True),
            (0.0, 1.0),
            (0, 2),
        )
        if not (running and outside)
    ]
    rooms = [Room(place, disk) for place, disk in product((False, True), get_args(Disk))]
    both = [Wanted(desired, state) for desired, state in product(wanted, STATES)]
    return list(product(both, cases, rooms))


def test_what_never_happens_whatever_is_seen() -> None:
    for wanted, seen, room in every():
        decision = decide(wanted, seen, room)
        action = "none" if decision is None else decision.action
        told = (wanted, seen, room, decision)
        if action == "start":
            assert wanted.desired == "running" and not seen.running, told
            assert seen.outside is None and room.place and room.disk == "ok", told
            assert seen.wait_s == 0 and wanted.state not in ("failed", "finished"), told
        if action == "stop":
            assert seen.asked_s is None and (seen.running or (seen.outside and seen.leaving)), told
        if action == "kill":
            assert seen.asked_s is not None and seen.asked_s > seen.grace_s, told
        if action == "delete":
            at_rest = not seen.running and seen.outside is None
            assert wanted.desired == "deleted" and at_rest, told
        if decision is not None and decision.state in ("stopped", "paused"):
            assert not seen.running and seen.outside is None, told
            assert wanted.desired == decision.state, told
        if decision is not None and decision.state == "running":
            ours = seen.running and seen.ready and wanted.desired == "running"
            assert ours or (
                seen.outside is not None
                and decision.reason == "held"
                and wanted.desired in ("stopped", "paused")
            ), told


LITTLE, FULL, BUSY = Room(disk="soft"), Room(disk="hard"), Room(place=False)


@pytest.mark.parametrize(
    ("desired", "state", "seen", "room", "action", "next_state"),
    [
        ("running", "created", REST, ROOM, "start", "starting"),
        ("running", "stopped", REST, BUSY, "none", "queued"),
        ("running", "stopped", REST, LITTLE, "none", "queued"),
        ("running", "recovering", replace(REST, wait_s=1, ends=1), ROOM, "none", "recovering"),
        ("running", "recovering", replace(REST, ends=1), ROOM, "start", "recovering"),
        ("running", "starting", replace(RUNNING, ready=False), ROOM, "none", "starting"),
        ("running", "starting", RUNNING, ROOM, "none", "running"),
        ("running", "running", replace(RUNNING, edited=True), ROOM, "stop", "starting"),
        ("running", "running", RUNNING, LITTLE, "none", "running"),
        ("running", "running", RUNNING, FULL, "stop", "stopping"),
        ("running", "running", replace(RUNNING, asked_s=1), ROOM, "none", "stopping"),
        ("stopped", "running", RUNNING, ROOM, "stop", "stopping"),
        ("paused", "stopping", replace(RUNNING, asked_s=11), ROOM, "kill", "stopping"),
        ("paused", "stopping", REST, ROOM, "none", "paused"),
        ("deleted", "failed", REST, ROOM, "delete", "deleting"),
        ("deleted", "running", RUNNING, ROOM, "stop", "stopping"),
        ("running", "starting", replace(REST, outside=7), ROOM, "none", "starting"),
        ("stopped", "stopping", replace(REST, outside=7, leaving=True), ROOM, "stop", "stopping"),
        (
            "stopped",
            "stopping",
            replace(REST, outside=7, leaving=True, asked_s=0.0),
            ROOM,
            "none",
            "stopping",
        ),
        ("stopped", "stopped", replace(REST, outside=7), ROOM, "none", "running"),
        ("deleted", "stopped", replace(REST, outside=7), ROOM, "none", "stopping"),
    ],
)
def test_steps(
    desired: Desired, state: str, seen: Seen, room: Room, action: str, next_state: str
) -> None:
    decision = decide(Wanted(desired, state), seen, room)
    assert decision is not None
    assert (decision.action, decision.state) == (action, next_state)


@pytest.mark.parametrize(
    ("desired", "state"),
    [(None, "running"), ("running", "failed"), ("running", "finished"), ("stopped", "created")],
)
def test_what_is_left_alone(desired: Desired | None, state: str) -> None:
    assert decide(Wanted(desired, state), REST, ROOM) is None


@pytest.mark.parametrize(
    ("how", "desired", "ends", "next_state"),
    [
        ("finished", "running", 0, "finished"),
        ("finished", "stopped", 0, "finished"),
        ("left", "stopped", 0, "stopped"),
        ("left", "running", 0, "starting"),
        ("quit", "running", 0, "stopped"),
        ("broke", "running", 1, "recovering"),
        ("broke", "running", 6, "failed"),
        ("broke", "stopped", 6, "stopped"),
    ],
)
def test_how_a_process_ended_decides_what_becomes_of_its_job(
    how: How, desired: Desired, ends: int, next_state: str
) -> None:
    seen = replace(REST, ends=ends, end=End(how, "crashed" if how == "broke" else None, "so"))
    decision = decide(Wanted(desired, "running"), seen, ROOM)
    assert decision is not None and decision.state == next_state
    assert (decision.settle is not None) == (how in ("quit", "finished"))


def test_what_would_end_the_same_way_is_not_tried_again() -> None:
    seen = replace(REST, ends=1, end=End("broke", "config", "error: no such key", lasting=True))
    assert decide(Wanted("running", "starting"), seen, ROOM) == Ruling(
        "none", "failed", "config", "error: no such key"
    )


def test_files_that_are_lost_or_damaged_are_not_waited_for(tmp_path: Path) -> None:
    store = FileSnapshotStore(tmp_path)
    name, _ = store.put({"w": torch.ones(3)}, {})
    store.path(name).write_bytes(b"garbage")
    (tmp_path / "checkpoints/00000001").mkdir(parents=True)
    paths = PopulationPaths(tmp_path)
    paths.config.write_text("")
    for fail in (
        lambda: store.load("a" * 64),
        lambda: store.load(name),
        lambda: read_newest(tmp_path / "checkpoints"),
        lambda: config_in_force(paths, "one", None),
    ):
        with pytest.raises(PbtError) as raised:
            fail()
        end = why_it_ended(1, ["error: in other words"], ending_of(raised.value))
        assert (end.reason, end.lasting) == ("lost", True), raised.value
    away = FileSnapshotStore(tmp_path / "unmounted")
    with pytest.raises(SnapshotError, match="moved, removed or unmounted") as raised:
        away.load(name)
    assert not ending_of(raised.value).lasting


def test_what_another_process_holds_is_waited_for() -> None:
    end = why_it_ended(1, ["error: held by process 7"], ending_of(HeldError("in other words")))
    assert (end.how, end.reason) == ("left", "held")
    again = replace(REST, end=end, wait_s=60.0, held=end.message)
    wanted = Wanted("running", "starting")
    for seen in (again, replace(again, end=None)):
        waits = decide(wanted, seen, ROOM)
        assert waits is not None and (waits.action, waits.reason) == ("none", "held")
        assert "held by process 7" in waits.message
    starts = decide(wanted, replace(again, end=None, wait_s=0.0), ROOM)
    assert starts is not None and (starts.action, starts.state) == ("start", "starting")


def test_what_a_person_stopped_is_not_started_again() -> None:
    """A comparison ends so when one of its trainings was asked to stop, but not by it."""
    end = why_it_ended(130, ["error: one-a1 was stopped"], ending_of(StoppedError("so")))
    assert (end.how, end.lasting) == ("quit", False)
    stopped = decide(Wanted("running", "running"), replace(REST, end=end), ROOM)
    assert stopped is not None and (stopped.action, stopped.state) == ("none", "stopped")
    assert "one-a1 was stopped" in stopped.message


def test_words_of_a_process_decide_nothing() -> None:
    """A game may print anything."""
    said = ["error: no usable checkpoint, lost: no such file, it is damaged: EnvError"]
    end = why_it_ended(1, said)
    assert (end.reason, end.lasting) == ("crashed", False)


@pytest.mark.parametrize(
    ("error", "cause", "lasting"),
    [
        (EnvError("x"), "game", False),
        (BrokenGameError("x"), "game", True),
        (FailedMembersError("x"), "crashed", True),
        (HeldError("x"), "held", False),
        (StoppedError("x"), "stopped", False),
        (PbtError("x"), "crashed", False),
    ],
)
def test_a_process_leaves_why_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: PbtError, cause: str, lasting: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    leave_ending(error)
    left = read_ending(tmp_path, os.getpid())
    assert left is not None and (left.cause, left.lasting) == (cause, lasting)
    assert read_ending(tmp_path, os.getpid() + 1) is None, "of an earlier process"
    (tmp_path / "ending.json").write_text("{")
    assert read_ending(tmp_path, os.getpid()) is None


def test_an_edit_that_came_while_it_finished_starts_it_again() -> None:
    seen = replace(REST, edited=True, end=End("finished"))
    decision = decide(Wanted("running", "running"), seen, ROOM)
    assert decision is not None and (decision.state, decision.reason) == ("starting", "edit")


@pytest.mark.parametrize(
    ("code", "output", "memory", "reason", "lasting"),
    [
        (2, ["x", "error: config has 1 problem", "  y"], False, "config", True),
        (1, ["error: torch.OutOfMemoryError: CUDA out of memory. Tried"], False, "cuda_oom", False),
        (-signal.SIGKILL, [], True, "oom_killed", False),
        (-signal.SIGKILL, [], False, "killed", False),
        (-signal.SIGSEGV, [], True, "killed", False),
        (1, ["Traceback", "ValueError: x"], False, "crashed", False),
        (70, [], False, "crashed", False),
    ],
)
def test_why_it_ended(
    code: int, output: list[str], memory: bool, reason: str, lasting: bool
) -> None:
    end = why_it_ended(code, output, out_of_memory=memory)
    assert (end.reason, end.lasting) == (reason, lasting)
    assert end.message


def test_the_message_is_the_line_that_says_error() -> None:
    assert why_it_ended(1, ["a", "error: this", "b"]).message == "error: this"
    assert why_it_ended(1, ["a", "b"]).message == "b"
    assert why_it_ended(1, []).message == "it wrote nothing"


def test_backing_off_doubles_up_to_the_longest() -> None:
    assert [backoff_s(ends, 1, 60, 0) for ends in (1, 2, 3, 6, 7, 50)] == [1, 2, 4, 32, 60, 60]
    assert backoff_s(1, 1, 60, 0.999) == pytest.approx(1.25, rel=1e-3)


def test_an_operation_ends_with_what_it_asked_for() -> None:
    for kind in get_args(Kind):
        for state, seen in product(STATES, (REST, RUNNING)):
            found = outcome(kind, state, seen)
            if kind in ("stop", "pause") and seen.running:
                assert found == "RUNNING"
            if kind == "delete":
                assert found == "RUNNING"
    assert [
        outcome("start", state, RUNNING) for state in ("running", "failed", "queued", "starting")
    ] == [
        "SUCCEEDED",
        "FAILED",
        "PENDING",
        "RUNNING",
    ]
    assert outcome("stop", "stopped", replace(REST, outside=7)) == "RUNNING"


def test_decisions_tell_people_what_is_going_on() -> None:
    silent = {
        (decision.state, decision.action)
        for row in every()
        if (decision := decide(*row)) is not None and not decision.message
    }
    assert silent == {("running", "none"), ("stopped", "none")}
