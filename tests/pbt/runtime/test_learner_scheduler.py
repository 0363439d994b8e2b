"""Batches, rounds and deaths in any order, for the scheduler of learners.

Every slot has one owner, every row is counted once, and none is trained on twice or too late.
"""

import random
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pbt.runtime.control import MemberError
from tests.pbt.runtime.flow_scene import BATCH_SLOTS, NAMES, Scene, T

EXAMPLES = 40
picks = st.integers(0, 2**16)


def pick(things: list[Any], number: int) -> Any:
    return things[number % len(things)] if things else None


class FlowMachine(RuleBasedStateMachine):
    """Everything that can happen, at any moment, in two placements with other fault domains."""

    runtime: ClassVar[dict[str, Any]]
    max_lag: ClassVar[int | None] = None

    def __init__(self) -> None:
        super().__init__()
        self.scene = Scene(self.runtime, self.max_lag)

    # What is possible now; every rule below picks one of these.

    def with_slots(self) -> list[str]:
        return [
            name
            for name in self.scene.workers
            if name in self.scene.processes and self.scene.processes[name].held
        ]

    def speaking(self) -> list[str]:
        return [name for name, process in self.scene.processes.items() if process.outbox]

    def listening(self) -> list[str]:
        return [
            name
            for name, process in self.scene.processes.items()
            if process.inbox and process.busy is None
        ]

    def gathering(self) -> list[tuple[str, str]]:
        found = [
            (name, member)
            for name, process in self.scene.processes.items()
            for member in process.asked
        ]
        return [
            (name, member)
            for name, member in found
            if any(asked.copied is None for asked in self.scene.processes[name].asked[member])
        ]

    def able(self) -> list[str]:
        processes = self.scene.processes.items()
        return [
            name
            for name, process in processes
            if process.ready and (process.unsent or process.to_train or process.busy)
        ]

    def alive(self) -> list[tuple[str, ...]]:
        return [domain for domain in self.scene.domains if domain[0] in self.scene.processes]

    def due(self) -> list[tuple[str, ...]]:
        return [domain for domain in self.scene.domains if self.scene.may_start(domain)]

    def starting(self) -> list[tuple[str, ...]]:
        return [domain for domain in self.alive() if not self.scene.processes[domain[0]].ready]

    @precondition(with_slots)
    @rule(
        number=picks,
        slot=picks,
        policy=st.integers(0, 2),
        valid=st.integers(1, T),
        lag=st.integers(0, 2),
        count=st.integers(1, 4),
    )
    def slots_are_filled(
        self, number: int, slot: int, policy: int, valid: int, lag: int, count: int
    ) -> None:
        for _ in range(count):
            if name := pick(self.with_slots(), number):
                self.scene.fill(
                    name, pick(sorted(self.scene.processes[name].held), slot), policy, valid, lag
                )

    @precondition(speaking)
    @rule(number=picks, count=st.integers(1, 4))
    def a_process_is_heard(self, number: int, count: int) -> None:
        for _ in range(count):
            if name := pick(self.speaking(), number):
                self.scene.hear(name)

    @precondition(listening)
    @rule(number=picks, count=st.integers(1, 4))
    def a_process_hears(self, number: int, count: int) -> None:
        for _ in range(count):
            if name := pick(self.listening(), number):
                self.scene.attend(name)

    @precondition(gathering)
    @rule(number=picks)
    def slots_are_copied(self, number: int) -> None:
        self.scene.copy(*pick(self.gathering(), number))

    @precondition(able)
    @rule(number=picks, count=st.integers(1, 3), raises=st.integers(0, 9), skips=st.booleans())
    def a_learner_acts(self, number: int, count: int, raises: int, skips: bool) -> None:
        for _ in range(count):
            if name := pick(self.able(), number):
                self.scene.act(name, raises == 0, skips)

    @rule()
    def a_turn_ends(self) -> None:
        self.scene.dispatch()

    @rule(winner=st.integers(0, 2), behind=st.integers(1, 2))
    def a_game_is_played(self, winner: int, behind: int) -> None:
        self.scene.game(NAMES[winner], NAMES[(winner + behind) % 3])

    @rule(resting=st.booleans())
    def rest_begins_or_ends(self, resting: bool) -> None:
        self.scene.flow.resting = resting

    @precondition(alive)
    @rule(number=picks, for_ever=st.integers(0, 9))
    def a_domain_dies(self, number: int, for_ever: int) -> None:
        self.scene.die(pick(self.alive(), number), for_ever == 0)

    @precondition(due)
    @rule(number=picks)
    def a_domain_is_started(self, number: int) -> None:
        self.scene.start(pick(self.due(), number))

    @precondition(starting)
    @rule(number=picks)
    def a_domain_gets_ready(self, number: int) -> None:
        self.scene.get_ready(pick(self.starting(), number))

    @rule(seed=picks, steps=st.integers(1, 150))
    def life_goes_on(self, seed: int, steps: int) -> None:
        """Much of everything but deaths, so that long stories are told, too."""
        chance = random.Random(seed)
        self.scene.flow.resting = False
        for name in NAMES[1:] * chance.randrange(3):
            self.scene.game(NAMES[0], name)
        for domain in self.due():
            self.scene.start(domain)
        for domain in self.starting():
            self.scene.get_ready(domain)
        for _ in range(steps):
            number = chance.randrange(99)
            match chance.randrange(8):
                case 0 | 1:
                    self.slots_are_filled(
                        number,
                        chance.randrange(99),
                        chance.randrange(3),
                        chance.randint(1, T),
                        chance.randrange(3),
                        2,
                    )
                case 2:
                    self.a_process_is_heard(number, 3)
                case 3:
                    self.a_process_hears(number, 3)
                case 4:
                    if self.gathering():
                        self.slots_are_copied(number)
                case 5 | 6:
                    self.a_learner_acts(number, 2, chance.randrange(40), chance.random() < 0.2)
                case 7:
                    self.a_turn_ends()
        self.scene.check()

    @invariant()
    def slots_and_rows(self) -> None:
        self.scene.check()

    def teardown(self) -> None:
        """Told to rest, all comes to rest, and then nothing is on its way."""
        flow = self.scene.flow
        flow.resting = True
        self.scene.settle()
        assert flow.rows_at_learners() == 0 and not flow.gathering
        for name, member in self.scene.controller.members.items():
            host = self.scene.learners[name].hosts[0]
            if host in self.scene.processes:
                assert self.scene.processes[host].hyperparams[name] == member.hyperparams
            if member.refused:
                assert not flow.pipelines[name].batcher.waiting


PLACEMENTS: dict[str, dict[str, Any]] = {
    "learners apart": {"placement": "central", "workers": 2, "learners": 2, "groups": 1},
    "servers train": {"placement": "central", "workers": 2, "learners": 0, "groups": 1},
    "workers train": {"placement": "inline", "workers": 2},
    "shards": {"placement": "inline", "workers": 6},
}


@pytest.mark.parametrize("max_lag", [None, 1])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_whatever_happens(placement: str, max_lag: int | None) -> None:
    machine = type(
        "Machine", (FlowMachine,), {"runtime": PLACEMENTS[placement], "max_lag": max_lag}
    )
    run_state_machine_as_test(
        machine, settings=settings(max_examples=EXAMPLES, stateful_step_count=40)
    )


@pytest.fixture
def scene() -> Scene:
    """Learners in processes of their own; m0 beats the others."""
    scene = Scene(PLACEMENTS["learners apart"])
    for name in NAMES[1:] * 4:
        scene.game(NAMES[0], name)
    return scene


def fill(scene: Scene, policy: int, slots: int) -> None:
    """And have the main process hear of it."""
    for _ in range(slots):
        worker = max(scene.workers, key=lambda name: len(scene.processes[name].held))
        scene.fill(worker, min(scene.processes[worker].held), policy, T, 0)
        scene.hear(worker)


def copying(scene: Scene) -> str | None:
    """Until m2 is told to copy a snapshot, but has not."""
    line = scene.flow.pipelines["m2"]
    fill(scene, 2, 2 * BATCH_SLOTS)
    for _ in range(10):
        scene.work_through()
        if line.copying is not None:
            return line.copying.copy_snapshot
    raise AssertionError("no round came")


def test_a_member_that_is_given_up_while_it_copies_keeps_nobody_waiting(scene: Scene) -> None:
    line = scene.flow.pipelines["m2"]
    copying(scene)
    fill(scene, 2, 1)
    (host,) = scene.learners["m2"].hosts
    scene.die((host,))
    assert line.copying is not None and not scene.flow.idle, (
        "it is copied when the learner lives again"
    )
    scene.start((host,))
    scene.die((host,), for_ever=True)
    assert (
        scene.controller.members["m2"].failed and line.copying is None and not line.batcher.waiting
    )
    scene.settle()
    assert scene.controller.members["m2"].copies == 0


def test_a_copy_that_was_interrupted_is_made_when_the_learner_lives_again(scene: Scene) -> None:
    snapshot = copying(scene)
    scene.die(scene.learners["m2"].hosts)
    scene.settle()
    member = scene.controller.members["m2"]
    assert (member.copies, member.generation, member.newest_snapshot) == (1, 1, snapshot)


def test_updates_that_raise_too_often_end_the_member_and_count_its_rows_once(scene: Scene) -> None:
    fill(scene, 1, 5)
    scene.dispatch()
    scene.dispatch()
    line = scene.flow.pipelines["m1"]
    assert len(line.batches) == 2 and not any(batch.gathered for batch in line.batches)
    for errors in range(1, 4):
        scene.flow.hear(MemberError("m1", "ValueError: made up"))
        scene.check()
        assert scene.controller.members["m1"].failed == (errors == 3), "two in a row are forgiven"
    assert scene.flow.dropped == {"error": 4 * T} and line.batcher.dropped == {"failed": T}
    scene.settle()
    assert not line.batches and scene.flow.rows_trained == 0
    (event,) = (event for event in scene.sink.events if event.kind == "failed")
    assert event.text.startswith("ValueError: made up")
