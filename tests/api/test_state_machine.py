"""Whatever is asked in whatever order, and whoever is killed: a model of what is wanted, and the service, agree.

ARENA_STEPS: how many (default 25). The trainers are doubles; tests/contracts/test_trainer.py holds them to what the real one does.
"""

import os
import signal
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from arena.lock import holder
from tests.api.service import Service, serving
from tests.api.test_races import trainers

STEPS = int(os.environ.get("ARENA_STEPS", "25"))
STEPS_PER_SERVICE = 40
NAMES = ("one", "two", "three")
AFTER = {"start": "running", "resume": "running", "pause": "paused", "stop": "stopped"}
names = strategies.sampled_from(NAMES)


def allowed(verb: str, wanted: str) -> bool:
    """What docs/service.md says: only what is to run is paused, only what is paused or runs is resumed."""
    return verb in ("start", "stop") or wanted in ("running", "paused")


def agrees(lock: Path, wanted: str) -> bool:
    """A trainer is there exactly when it is to be."""
    return (holder(lock) is not None) == (wanted == "running")


class Supervised(RuleBasedStateMachine):
    """wanted: of every population that there is, what was asked for last;  starts: trainers it had at least"""

    def __init__(self) -> None:
        super().__init__()
        self.open = ExitStack()
        self.folder = Path(self.open.enter_context(tempfile.TemporaryDirectory()))
        self.wanted: dict[str, str] = {}
        self.serve()

    def serve(self) -> None:
        self.running = ExitStack()
        self.service: Service = self.running.enter_context(serving(self.folder / "data", max_restarts=1000, max_running=3))

    def teardown(self) -> None:
        self.running.close()
        assert [trainers(self.folder / "data", name) for name in NAMES] == [0, 0, 0]
        self.open.close()

    def ask(self, method: str, path: str, status: int, body: Any = None) -> Any:
        return self.service.call(method, f"/v1/populations/{path}".rstrip("/"), body, status=status)

    @initialize()
    def begin(self) -> None:
        self.create("one", start=True)

    @rule(name=names, start=strategies.booleans())
    def create(self, name: str, start: bool) -> None:
        there = name in self.wanted
        self.service.call(
            "POST", "/v1/populations", {"name": name, "config": {"env": {"name": "connect_four"}}, "start": start}, 409 if there else 201
        )
        if not there:
            self.wanted[name] = "running" if start else "stopped"

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

    @rule(name=names, key=strategies.sampled_from(("learning.gamma", "evaluation.share")), value=strategies.sampled_from((0.25, 0.5)))
    def edit(self, name: str, key: str, value: float) -> None:
        self.ask("PATCH", name, 200 if name in self.wanted else 404, {"set": {key: value}})

    @precondition(lambda self: self.wanted)
    @rule(name=names)
    def kill_trainer(self, name: str) -> None:
        pid = holder(self.folder / "data/populations" / name / "lock") if name in self.wanted else None
        if pid is not None and pid != os.getpid():
            os.kill(pid, signal.SIGKILL)

    @rule()
    def restart_service(self) -> None:
        self.running.close()
        self.serve()

    @rule()
    def settle(self) -> None:
        """In the end everything is as it was wanted, with one trainer for each that is to run and none for the others."""
        for name, wanted in self.wanted.items():
            rest = ("stopped", "created") if wanted == "stopped" else (wanted,)
            self.service.wait_state(name, *rest)
            lock = self.folder / "data/populations" / name / "lock"
            self.service.wait(partial(agrees, lock, wanted))
            assert self.service.call("GET", f"/v1/populations/{name}")["spec"]["desired"] == wanted

    @invariant()
    def never_two_trainers(self) -> None:
        assert all(trainers(self.folder / "data", name) <= 1 for name in NAMES)

    @invariant()
    def what_there_is_is_what_was_made(self) -> None:
        listed = {item["id"]: item["spec"]["desired"] for item in self.service.call("GET", "/v1/populations")["items"]}
        assert listed == self.wanted


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_model_and_the_service_agree() -> None:
    per_service = min(STEPS, STEPS_PER_SERVICE)
    run_state_machine_as_test(
        Supervised,
        settings=settings(
            max_examples=-(-STEPS // per_service),
            stateful_step_count=per_service,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
