"""Batches, rounds and deaths in any order: every slot has one owner, every row is counted once, nothing is trained on twice or too late."""

from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.pbt.runtime.flow_scene import NAMES, T, Scene

EXAMPLES = 25
picks = st.integers(0, 2**16)


class FlowMachine(RuleBasedStateMachine):
    """Everything that can happen, at any moment. Two placements differ in who dies with whom."""

    runtime: ClassVar[dict[str, Any]]
    max_lag: ClassVar[int | None] = None

    def __init__(self) -> None:
        super().__init__()
        self.scene = Scene(self.runtime, self.max_lag)

    def pick(self, names: list[Any], number: int) -> Any:
        return names[number % len(names)] if names else None

    @rule(number=picks, slot=picks, policy=st.integers(0, 2), valid=st.integers(1, T), lag=st.integers(0, 2), count=st.integers(1, 4))
    def slots_are_filled(self, number: int, slot: int, policy: int, valid: int, lag: int, count: int) -> None:
        for _ in range(count):
            name = self.pick([name for name in self.scene.workers if name in self.scene.processes and self.scene.processes[name].held], number)
            if name is not None:
                self.scene.fill(name, self.pick(sorted(self.scene.processes[name].held), slot), policy, valid, lag)

    @rule(number=picks, count=st.integers(1, 4))
    def a_process_is_heard(self, number: int, count: int) -> None:
        for _ in range(count):
            if name := self.pick([name for name, process in self.scene.processes.items() if process.outbox], number):
                self.scene.hear(name)

    @rule(number=picks, count=st.integers(1, 4))
    def a_process_hears(self, number: int, count: int) -> None:
        for _ in range(count):
            processes = self.scene.processes
            if name := self.pick([name for name, process in processes.items() if process.inbox and process.busy is None], number):
                self.scene.attend(name)

    @rule(number=picks)
    def slots_are_copied(self, number: int) -> None:
        places = [(name, member) for name, process in self.scene.processes.items() for member, asked in process.asked.items() if asked]
        if place := self.pick(places, number):
            self.scene.copy(*place)

    @rule(number=picks, count=st.integers(1, 3), raises=st.integers(0, 9), skips=st.booleans())
    def a_learner_acts(self, number: int, count: int, raises: int, skips: bool) -> None:
        for _ in range(count):
            able = [name for name, process in self.scene.processes.items() if process.ready and (process.unsent or process.to_train or process.busy)]
            if name := self.pick(able, number):
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

    @rule(number=picks, for_ever=st.integers(0, 4))
    def a_domain_dies(self, number: int, for_ever: int) -> None:
        if domain := self.pick([domain for domain in self.scene.domains if domain[0] in self.scene.processes], number):
            self.scene.die(domain, for_ever == 0)

    @rule(number=picks)
    def a_domain_is_started(self, number: int) -> None:
        if domain := self.pick([domain for domain in self.scene.domains if self.scene.may_start(domain)], number):
            self.scene.start(domain)

    @rule(number=picks)
    def a_domain_gets_ready(self, number: int) -> None:
        processes = self.scene.processes
        if domain := self.pick([domain for domain in self.scene.domains if domain[0] in processes and not processes[domain[0]].ready], number):
            self.scene.get_ready(domain)

    @rule()
    def all_goes_well_for_a_while(self) -> None:
        """So that long stories are told, too."""
        for _ in range(3):
            self.scene.work_through()

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
            host = flow.trainees[name].hosts[0]
            if host in self.scene.processes:
                assert self.scene.processes[host].hyperparams[name] == member.hyperparams
            if member.refused:
                assert not flow.trainees[name].batcher.waiting


PLACEMENTS: dict[str, dict[str, Any]] = {
    "learners apart": {"placement": "central", "workers": 2, "learners": 2, "groups": 1},
    "servers train": {"placement": "central", "workers": 2, "learners": 0, "groups": 1},
    "workers train": {"placement": "inline", "workers": 2},
    "shards": {"placement": "inline", "workers": 6},
}


@pytest.mark.parametrize("max_lag", [None, 1])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_whatever_happens(placement: str, max_lag: int | None) -> None:
    machine = type("Machine", (FlowMachine,), {"runtime": PLACEMENTS[placement], "max_lag": max_lag})
    run_state_machine_as_test(machine, settings=settings(max_examples=EXAMPLES, stateful_step_count=60))
