"""What is decided about a population, and why a trainer ended: pure."""

import signal
from dataclasses import replace
from itertools import product
from typing import get_args

import pytest

from api.reconcile.reconciler import outcome
from api.reconcile.training_rules import Disk, Facts, Ruling, backoff_s, decide, why_it_ended
from arena.league.operations import Kind
from arena.league.supervised import Desired

REST = Facts(
    running=False,
    ready=False,
    outside=None,
    leaving=False,
    asked_s=None,
    grace_s=10,
    edited=False,
    wait_s=0,
    ends=0,
    place=True,
    disk="ok",
)
RUNNING = replace(REST, running=True, ready=True)
STATES = (
    "created",
    "queued",
    "starting",
    "running",
    "recovering",
    "stopping",
    "stopped",
    "paused",
    "finished",
    "failed",
    "deleting",
    "interrupted",
)


def every() -> list[tuple[Desired | None, str, Facts]]:
    wanted: list[Desired | None] = [None, *get_args(Desired)]
    facts = [
        Facts(
            running,
            ready and running,
            outside,
            leaving,
            asked if running else None,
            10,
            edited and running,
            wait,
            ends,
            place,
            disk,
        )
        for running, ready, outside, leaving, asked, edited, wait, ends, place, disk in product(
            (False, True),
            (False, True),
            (None, 7),
            (False, True),
            (None, 1.0, 11.0),
            (False, True),
            (0.0, 1.0),
            (0, 2),
            (False, True),
            get_args(Disk),
        )
        if not (running and outside)
    ]
    return list(product(wanted, STATES, facts))


def test_what_never_happens_whatever_is_seen() -> None:
    for desired, state, facts in every():
        decision = decide(desired, state, facts)
        action = "none" if decision is None else decision.action
        told = (desired, state, facts, decision)
        if action == "start":
            assert (
                desired == "running"
                and not facts.running
                and facts.outside is None
                and facts.place
                and facts.disk == "ok"
            ), told
            assert facts.wait_s == 0 and state not in ("failed", "finished"), told
        if action == "stop":
            assert facts.running and facts.asked_s is None, told
        if action == "kill":
            assert facts.asked_s is not None and facts.asked_s > facts.grace_s, told
        if action == "delete":
            assert desired == "deleted" and not facts.running and facts.outside is None, told
        if decision is not None and decision.state in ("stopped", "paused"):
            assert not facts.running and facts.outside is None and desired == decision.state, told
        if decision is not None and decision.state == "running":
            ours = facts.running and facts.ready and desired == "running"
            assert ours or (
                facts.outside is not None
                and decision.reason == "held"
                and desired in ("stopped", "paused")
            ), told


@pytest.mark.parametrize(
    ("desired", "state", "facts", "action", "next_state"),
    [
        ("running", "created", REST, "start", "starting"),
        ("running", "stopped", replace(REST, place=False), "none", "queued"),
        ("running", "stopped", replace(REST, disk="soft"), "none", "queued"),
        ("running", "recovering", replace(REST, wait_s=1, ends=1), "none", "recovering"),
        ("running", "recovering", replace(REST, ends=1), "start", "recovering"),
        ("running", "starting", replace(RUNNING, ready=False), "none", "starting"),
        ("running", "starting", RUNNING, "none", "running"),
        ("running", "running", replace(RUNNING, edited=True), "stop", "starting"),
        ("running", "running", replace(RUNNING, disk="soft"), "none", "running"),
        ("running", "running", replace(RUNNING, disk="hard"), "stop", "stopping"),
        ("running", "running", replace(RUNNING, asked_s=1), "none", "stopping"),
        ("stopped", "running", RUNNING, "stop", "stopping"),
        ("paused", "stopping", replace(RUNNING, asked_s=11), "kill", "stopping"),
        ("paused", "stopping", REST, "none", "paused"),
        ("deleted", "failed", REST, "delete", "deleting"),
        ("deleted", "running", RUNNING, "stop", "stopping"),
        ("running", "starting", replace(REST, outside=7), "none", "starting"),
        ("stopped", "stopping", replace(REST, outside=7, leaving=True), "none", "stopping"),
        ("stopped", "stopped", replace(REST, outside=7), "none", "running"),
        ("deleted", "stopped", replace(REST, outside=7), "none", "stopping"),
    ],
)
def test_steps(desired: Desired, state: str, facts: Facts, action: str, next_state: str) -> None:
    decision = decide(desired, state, facts)
    assert decision is not None
    assert (decision.action, decision.state) == (action, next_state)


@pytest.mark.parametrize(
    ("desired", "state"),
    [(None, "running"), ("running", "failed"), ("running", "finished"), ("stopped", "created")],
)
def test_what_is_left_alone(desired: Desired | None, state: str) -> None:
    assert decide(desired, state, REST) is None


@pytest.mark.parametrize(
    ("code", "output", "memory", "reason", "lasting"),
    [
        (2, ["x", "error: config has 1 problem", "  y"], False, "config", True),
        (1, ["error: torch.OutOfMemoryError: CUDA out of memory. Tried"], False, "cuda_oom", False),
        (-signal.SIGKILL, [], True, "oom_killed", False),
        (-signal.SIGKILL, [], False, "killed", False),
        (-signal.SIGSEGV, [], True, "killed", False),
        (1, ["error: EnvError: the game raised"], False, "game", False),
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
        for state, facts in product(STATES, (REST, RUNNING)):
            found = outcome(kind, state, facts)
            if kind in ("stop", "pause") and facts.running:
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
    assert isinstance(decide("running", "created", REST), Ruling)
