"""Requests in any order, while any process is killed: the service does what a model expects.

ARENA_STEPS: how many steps (default 25). The trainers are doubles; tests/contracts/test_trainer.py
holds them to what the real one does. ARENA_REAL_STEPS: how many steps with the real trainer
(default 4).
"""

import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, seed, settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    get_state_machine_test,
    initialize,
    invariant,
    precondition,
    rule,
)

from arena.data.lock import holder
from tests.api.service import Service, serving
from tests.api.test_races import doubled, trainers
from tests.contracts.test_trainer import CONFIG

STEPS, REAL_STEPS = (
    int(os.environ.get("ARENA_STEPS", "25")),
    int(os.environ.get("ARENA_REAL_STEPS", "4")),
)
STEPS_PER_SERVICE = 40
# Patience of the test, on a machine that may be busy; what is promised of an idle one stands in
# docs/service.md.
LONG_S = 150.0
NAMES = ("one", "two", "three")
AFTER = {"start": "running", "resume": "running", "pause": "paused", "stop": "stopped"}
names = strategies.sampled_from(NAMES)
FEW, CAMPAIGN = 1, 500
EVERYTHING = {"start", "stop", "pause", "resume", "DELETE", "PATCH", "members", "trainers killed"}
"""Taken or done in every campaign: steps that only knock at closed doors show nothing."""


def allowed(verb: str, wanted: str) -> bool:
    """What docs/service.md says: only what is to run is paused, only what is paused or runs is
    resumed.
    """
    return verb in ("start", "stop") or wanted in ("running", "paused")


def agrees(lock: Path, wanted: str) -> bool:
    """A trainer is there exactly when it is to be."""
    return (holder(lock) is not None) == (wanted == "running")


class Supervised(RuleBasedStateMachine):
    """The model, and the service beside it.

    wanted  of every population that exists, what was asked for last
    joined  of every population, how many members were added to it
    done    of all runs of the machine: steps, and accepted requests by kind
    """

    done: ClassVar[Counter[str]] = Counter()
    more: Mapping[str, Any] = {}
    config: Mapping[str, Any] = {"env": {"name": "connect_four"}}

    def __init__(self) -> None:
        super().__init__()
        self.open = ExitStack()
        self.folder = Path(self.open.enter_context(tempfile.TemporaryDirectory()))
        self.wanted: dict[str, str] = {}
        self.joined: dict[str, int] = {}
        self.serve()

    def serve(self) -> None:
        self.running = ExitStack()
        self.service: Service = self.running.enter_context(
            serving(self.folder / "data", max_restarts=1000, max_running=3, **self.more)
        )
        self.service.wait_s = LONG_S

    def teardown(self) -> None:
        self.running.close()
        assert [trainers(self.folder / "data", name) for name in NAMES] == [0, 0, 0]
        self.open.close()

    def ask(self, method: str, path: str, status: int, body: Any = None) -> Any:
        if status < HTTPStatus.BAD_REQUEST:
            self.done[path.partition("/")[2].partition("/")[0] or method] += 1
        return self.service.call(method, f"/v1/populations/{path}".rstrip("/"), body, status=status)

    @initialize()
    def begin(self) -> None:
        self.create("one", start=True)

    @rule(name=names, start=strategies.booleans())
    def create(self, name: str, start: bool) -> None:
        there = name in self.wanted
        self.service.call(
            "POST",
            "/v1/populations",
            {"name": name, "config": self.config, "start": start},
            409 if there else 201,
        )
        if not there:
            self.wanted[name], self.joined[name] = "running" if start else "stopped", 0

    @rule(name=names, verb=strategies.sampled_from(tuple(AFTER)))
    def verb(self, name: str, verb: str) -> None:
        if name not in self.wanted:
            self.ask("POST", f"{name}/{verb}", 404)
        elif not allowed(verb, self.wanted[name]):
            self.ask("POST", f"{name}/{verb}", 409)
        else:
            first, again = (self.ask("POST", f"{name}/{verb}", 202)["id"] for _ in range(2))
            assert first == again
            self.wanted[name] = AFTER[verb]

    @rule(name=names)
    def delete(self, name: str) -> None:
        if name not in self.wanted:
            self.ask("DELETE", name, 404)
            return
        assert self.service.done(self.ask("DELETE", name, 202))["state"] == "SUCCEEDED"
        del self.wanted[name]

    @rule(
        name=names,
        key=strategies.sampled_from(("learning.gamma", "evaluation.share")),
        value=strategies.sampled_from((0.25, 0.5)),
    )
    def edit(self, name: str, key: str, value: float) -> None:
        self.ask("PATCH", name, 200 if name in self.wanted else 404, {"set": {key: value}})

    @rule(name=names)
    def exchange(self, name: str) -> None:
        """One member comes, and the one that came before it goes."""
        made = self.ask("POST", f"{name}/members", 202 if name in self.wanted else 404, {})
        if name in self.wanted:
            before, self.joined[name] = self.joined[name], self.joined[name] + 1
            assert made["member"] == f"m{self.joined[name]}"
            if before:
                self.ask("DELETE", f"{name}/members/m{before}", 202)
            self.ask("DELETE", f"{name}/members/m{self.joined[name] + 1}", 404)

    @precondition(lambda self: self.wanted)
    @rule(name=names)
    def kill_trainer(self, name: str) -> None:
        pid = (
            holder(self.folder / "data/populations" / name / "lock")
            if name in self.wanted
            else None
        )
        if pid is not None and pid != os.getpid():
            os.kill(pid, signal.SIGKILL)
            self.done["trainers killed"] += 1

    @rule()
    def restart_service(self) -> None:
        self.running.close()
        self.serve()

    @rule()
    def settle(self) -> None:
        """In the end everything is as it was wanted, with one trainer for each that is to run
        and none for the others.
        """
        for name, wanted in self.wanted.items():
            rest = ("stopped", "created") if wanted == "stopped" else (wanted,)
            self.service.wait_state(name, *rest)
            lock = self.folder / "data/populations" / name / "lock"
            self.service.wait(partial(agrees, lock, wanted))
            assert self.service.call("GET", f"/v1/populations/{name}")["spec"]["desired"] == wanted

    @invariant()
    def counted(self) -> None:
        """Called after each step."""
        self.done["steps"] += 1

    @invariant()
    def never_two_trainers(self) -> None:
        assert all(trainers(self.folder / "data", name) <= 1 for name in NAMES)
        assert doubled(self.folder / "data") == []

    @invariant()
    def what_there_is_is_what_was_made(self) -> None:
        listed = {
            item["id"]: item["spec"]["desired"]
            for item in self.service.call("GET", "/v1/populations")["items"]
        }
        assert listed == self.wanted


class WithRealTrainers(Supervised):
    """Small ones, each in one process."""

    done: ClassVar[Counter[str]] = Counter()
    more = {"trainer": (sys.executable, "-P", "-m", "arena.programs.cli"), "backoff_s": 0.5}
    config = {**CONFIG, "population": {"members": 1}}

    @rule()
    def members_agree(self) -> None:
        """In every training that runs, members that were added play and removed ones do not."""
        for name in [name for name, wanted in self.wanted.items() if wanted == "running"]:
            expected = {"m0", *([f"m{self.joined[name]}"] if self.joined[name] else [])}
            self.service.wait(partial(self.trained_by, name, expected))

    def trained_by(self, name: str, expected: set[str]) -> bool:
        found = self.service.call("GET", f"/v1/populations/{name}")
        return (
            found["status"]["state"] == "running"
            and {member["name"] for member in found["status"]["members"]} == expected
        )


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("machine", "steps"),
    [(Supervised, STEPS), (WithRealTrainers, REAL_STEPS)],
    ids=["double", "real"],
)
def test_the_model_and_the_service_agree(machine: type[Supervised], steps: int) -> None:
    per_service = min(max(8, steps // 4), STEPS_PER_SERVICE)
    # The first two of each search are the simplest ones: one rule again and again, and none.
    chosen = settings(
        max_examples=6,
        stateful_step_count=per_service,
        deadline=None,
        derandomize=False,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    # Each of them may be shorter than it could be; the same ones every time.
    for number in count():
        if machine.done["steps"] >= steps:
            break
        seed(number)(get_state_machine_test(machine, settings=chosen))()
    assert len(machine.done) > FEW and (steps < CAMPAIGN or machine.done.keys() >= EVERYTHING)
    print(", ".join(f"{count} {what}" for what, count in machine.done.most_common()))
