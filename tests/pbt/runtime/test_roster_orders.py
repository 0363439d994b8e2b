"""What workers are told, together or one after the other, and what their answers add up to."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert
from msgspec.structs import replace

from bench.memory import MemorySink, MemoryStore, NoControl
from pbt.checkpoint.workers import saved_games, saved_seats
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.inference.frozen import FrozenPool
from pbt.matchmaking.planner import TrainingPlanner
from pbt.matchmaking.roster import SnapshotEntry
from pbt.records import PlayerRef, SeatRecord
from pbt.runtime.assembly import assemble, new_planner, new_roster
from pbt.runtime.blueprint import Blueprint, blueprint_of, equal_shares
from pbt.runtime.control import FROM_MAIN, Assignment, Paused, SetRoster
from pbt.runtime.final_evaluation import FinalEvaluation
from pbt.runtime.placements import process_plans, resolve
from pbt.runtime.process_group import ProcessGroup
from pbt.runtime.roster_sender import RosterSender
from pbt.runtime.run_state import RunState
from pbt.runtime.serial import SerialEngine
from pbt.runtime.shared import SharedMemory
from pbt.sampling.table import Table, TableState
from pbt.saved import SavedPlanner, SavedWorker
from pbt.snapshots import FileSnapshotStore
from pbt.transport.messages import GameEnd, GamePlan, JsonState, SeatPlan
from pbt.transport.wire import Wire
from tests.pbt.checkpoint.cuts import empty_worker

TABLES = 7
CONFIG = RunConfig.model_validate(
    {
        "env": {"name": "tictactoe"},
        "population": {"members": 3},
        "sampling": {"environments": TABLES, "rollout_steps": 4},
        "model": {"hidden": [4]},
        "learning": {"batch_steps": 32},
        "runtime": {"placement": "central", "workers": 2, "servers": 2},
    }
)
MEMBERS = {"m0": 0, "m1": 1, "m2": 2}


class NoHost:
    """Attaches nothing."""

    def attach_player(self, policy: int, player: PlayerRef, role: int) -> None: ...

    def detach(self, policy: int) -> None: ...


@pytest.fixture(scope="module")
def blueprint() -> Blueprint:
    return blueprint_of(CONFIG, registry.spec("tictactoe"))


def planner(blueprint: Blueprint) -> TrainingPlanner:
    pool = FrozenPool(NoHost(), len(blueprint.members), blueprint.frozen_slots)
    return new_planner(blueprint, pool, range(TABLES), np.zeros(TABLES, np.int64))


def evaluation(*players: tuple[str, str], kind: Any = "evaluation") -> GameEnd:
    refs = [PlayerRef(sort, name) for sort, name in players]  # type: ignore[arg-type]
    seats = tuple(SeatPlan(ref, 3, 0, False) for ref in refs)
    records = tuple(SeatRecord(ref, 0, 0, 0, place, 0.0) for place, ref in enumerate(refs))
    return GameEnd(0, GamePlan(0, kind, 0, seats, ()), records, 5, 5, "win", "", None)


def playing(tables: int, plans: dict[int, GamePlan]) -> SavedWorker:
    """A worker whose games have just begun, by table."""
    game = registry.spec("tictactoe").make()
    state, own = TableState(range(tables), game), []
    for number, plan in plans.items():
        state.begin(np.array([number]), [plan], [0] * len(plan.seats))
        own.append(Table(number, number, game, state, plan))
    return replace(
        empty_worker(tables), games=saved_games(own), seats=saved_seats(own, state.seats)
    )


members = st.sampled_from(sorted(MEMBERS))
told = st.one_of(
    st.tuples(st.just("add"), members, st.integers(0, 9)),
    st.tuples(st.just("remove"), members, st.integers(0, 9)),
    st.tuples(st.just("generation"), members, st.integers(1, 9)),
    st.tuples(st.just("learning"), members, st.booleans()),
)


@given(st.lists(told, max_size=30), st.integers(0, 30))
def test_a_new_worker_knows_what_the_old_ones_were_told(
    blueprint: Blueprint, story: list[tuple[str, str, int]], joins: int
) -> None:
    old, late, messages = planner(blueprint), planner(blueprint), list[SetRoster]()
    sender = RosterSender(new_roster(blueprint), messages.append)
    for number, (what, member, value) in enumerate([*story, ("learning", "m0", 1)]):
        if number == min(joins, len(story)):
            late.load(sender.state([0] * TABLES, ()))
        roster, snapshot_id = sender.roster, f"{member}-{value}"
        match what:
            case "add" if snapshot_id not in roster.snapshot_ids():
                roster = roster.with_snapshot(SnapshotEntry(snapshot_id, member, "player"))
            case "remove":
                roster = roster.without_snapshots({snapshot_id, "unheard of"})
            case "generation":
                roster = roster.with_generation(member, value)
            case "learning":
                roster = roster.with_learning(member, bool(value))
        sender.roster = roster
        sender.send()
        for message in messages:
            old.roster = message.roster
            if number >= min(joins, len(story)):
                late.roster = message.roster
        messages.clear()
    assert old.state() == late.state() == sender.state([0] * TABLES, ())
    assert old.roster == late.roster == sender.roster
    again = RosterSender(new_roster(blueprint), messages.append)
    again.load(sender.state([0] * TABLES, ()), empty_worker(TABLES))
    again.send()
    assert again.state([0] * TABLES, ()) == sender.state([0] * TABLES, ()) and not messages, (
        "workers that start later have it in their assignment"
    )


def test_the_roster_is_sent_a_few_times_a_second_and_new_weights_at_once(
    blueprint: Blueprint,
) -> None:
    now, sent = [0.0], list[SetRoster]()
    sender = RosterSender(new_roster(blueprint), sent.append, lambda: now[0])
    for number in range(100):
        sender.roster = sender.roster.with_win_rates({"a": {"m0": number / 100}})
        sender.send_due(at_once=False)
        now[0] += 0.01
    assert 3 <= len(sent) <= 4 and sent[-1].roster.win_rates["a"]["m0"] < 0.99
    sender.send_due(at_once=True)
    assert sent[-1].roster == sender.roster
    before = len(sent)
    sender.send_due(at_once=True)
    assert len(sent) == before, "it has not changed"
    for change in (
        sender.roster.with_generation("m1", 1),
        sender.roster.with_learning("m0", False),
        sender.roster.with_evaluation(0.5),
    ):
        sender.roster, before = change, len(sent)
        assert len(sent) == before + 1 and sent[-1].roster == change


def test_evaluation_games_are_counted_when_they_are_over(blueprint: Blueprint) -> None:
    sender = RosterSender(new_roster(blueprint), lambda message: None)
    sender.game_over(evaluation(("snapshot", "a"), ("snapshot", "b")))
    sender.game_over(evaluation(("snapshot", "a"), ("scripted", "random")))
    sender.game_over(evaluation(("member", "m0"), ("snapshot", "b"), kind="training"))
    assert sender.state([], ()).evaluated == {"a": 2, "b": 1} and sender.evaluated.closing == 0
    for name in MEMBERS:
        sender.roster = sender.roster.with_learning(name, False)
    sender.game_over(evaluation(("snapshot", "a"), ("snapshot", "b")))
    assert sender.evaluated.closing == 1 and not sender.roster.learning
    sender.roster = sender.roster.with_learning("m1", True)
    assert sender.evaluated.closing == 0 and sender.roster.learning, "there will be another end"


def test_open_evaluation_games_are_counted_once(blueprint: Blueprint) -> None:
    """In a checkpoint they have begun; when they end after a resume, they are not new ones."""
    sender = RosterSender(new_roster(blueprint), lambda message: None)
    for name in MEMBERS:
        sender.roster = sender.roster.with_learning(name, False)
    sender.game_over(evaluation(("snapshot", "a"), ("snapshot", "b")))
    plans = {
        0: evaluation(("snapshot", "a"), ("scripted", "random")).plan,
        2: evaluation(("snapshot", "b"), ("member", "m0"), kind="training").plan,
    }
    worker = playing(3, plans)
    state = sender.state([2, 0, 1], [worker])
    assert state.evaluated == {"a": 2, "b": 1} and state.closing_played == 2
    resumed = RosterSender(new_roster(blueprint), lambda message: None)
    resumed.load(state, worker)
    assert (resumed.evaluated.closing, resumed.closing_begun) == (1, 2)
    assert resumed.state([2, 0, 1], [worker]) == state
    resumed.game_over(evaluation(("snapshot", "a"), ("scripted", "random")))
    assert (resumed.evaluated.closing, resumed.closing_begun) == (2, 2)
    assert resumed.state([2, 0, 1], [empty_worker(3)]) == state
    lost = RosterSender(new_roster(blueprint), lambda message: None)
    lost.load(state, worker)
    assert lost.void_open_games([2, 0, 1]) == 2 and lost.closing_begun == 1


# --- orders ---------------------------------------------------------------------------------------


class Desk:
    """Orders for two workers of two groups, over real shared memory."""

    def __init__(self, blueprint: Blueprint, folder: Path) -> None:
        self.config = resolve(CONFIG, 4, False)
        self.plans = process_plans(self.config, list(MEMBERS))
        self.shared = SharedMemory(blueprint, self.plans)
        self.shared.renew_plane()
        processes = ProcessGroup(self.plans, self.shared.board, 60.0, {"game": 60.0})
        store = FileSnapshotStore(folder)
        self.state = RunState(blueprint, self.shared, processes, MemorySink(), store)
        self.state.final_games = FinalEvaluation(5, processes.workers())
        self.state.final_games.begun = True

    def orders(self) -> dict[str, tuple[JsonState, list[int]]]:
        return self.state.orders([plan.name for plan in self.plans])

    def tables(self) -> dict[str, JsonState]:
        """The orders of the workers."""
        return {name: own for name, (own, _) in self.orders().items() if "states" in own}

    def paused(self, tables: dict[str, JsonState]) -> dict[str, Paused]:
        """The answer of workers that did nothing but take over their tables."""
        return {name: Paused(1, tables[name]["states"], (), 0) for name in reversed(tables)}


@pytest.fixture
def desk(blueprint: Blueprint, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(blueprint, tmp_path)
    yield desk
    desk.shared.close()


@pytest.fixture
def engine() -> SerialEngine:
    """A population in the middle of its games."""
    sink, store = MemorySink(), MemoryStore()
    population = assemble(CONFIG, registry.spec("tictactoe"), sink, store)
    engine = SerialEngine(population, sink, NoControl())
    engine.controller.start()
    for _ in range(60):
        engine.turn()
    return engine


def test_what_was_split_comes_together_again(desk: Desk, engine: SerialEngine) -> None:
    checkpoint = engine.take_cut(1)
    state = checkpoint.state
    before = state.worker
    queues = desk.state.restore(checkpoint)
    assert {name: len(queue.queue) for name, queue in queues.items()} == {
        name: len(queue.queue) for name, queue in state.queues.items()
    }, "full slots may have moved into another worker's share"
    counters = desk.state.counters
    assert counters.produced() == engine.rows_produced() > 0
    assert +counters.dropped() == Counter(before.fillers[0].dropped)

    unstarted = desk.state.merged({})
    tables = desk.tables()
    assert [state.tables.table for own in tables.values() for state in own["states"]] == [
        list(share.tables) for share in desk.shared.shares
    ]
    fillers = [one for own in tables.values() for state in own["states"] for one in state.fillers]
    assert all((one.produced, one.dropped) == (0, {}) for one in fillers), "counted in main alone"
    assert [own["source"] for own in tables.values()] == [0, 1] and [
        own["closing_games"] for own in tables.values()
    ] == [3, 2]
    assert desk.state.merged(desk.paused(tables)) == unstarted, (
        "in the order of tables, whichever worker answers first"
    )

    worker, planner = unstarted
    assert planner == state.planner
    assert worker.games == before.games
    assert [one.produced for one in worker.fillers] == [engine.rows_produced()]
    assert [+Counter(one.dropped) for one in worker.fillers] == [+counters.dropped()]
    parked, parked_before = (one.fillers[0].pool.parked for one in (worker, before))
    assert {policy: sorted(row for _, row in entries) for policy, entries in parked.items()} == {
        policy: sorted(row for _, row in entries) for policy, entries in parked_before.items()
    }


def test_a_second_plane_starts_with_empty_tables(desk: Desk, engine: SerialEngine) -> None:
    checkpoint = engine.take_cut(1)
    desk.state.restore(checkpoint)
    first, again = desk.tables(), desk.tables()
    empty = desk.shared.empty_workers()
    assert [state for own in first.values() for state in own["states"]] != empty
    assert [state for own in again.values() for state in own["states"]] == empty
    over = desk.state.roster.state(checkpoint.state.planner.counts, ()).evaluated
    assert all(own["planner"].evaluated == over for own in again.values())


def test_before_anything_was_played_the_tables_are_empty(desk: Desk) -> None:
    worker, planner = desk.state.merged({})
    assert worker == replace(empty_worker(TABLES), fillers=worker.fillers)
    assert sorted(worker.fillers[0].pool.free) == list(range(desk.shared.slabs[0].slots))
    assert planner == desk.state.roster.state([0] * TABLES, ())
    assert desk.state.merged(desk.paused(desk.tables())) == (worker, planner)


def test_an_assignment_travels(desk: Desk, blueprint: Blueprint) -> None:
    members = desk.state.scheduler.controller.members
    told, wire = desk.orders(), Wire(FROM_MAIN)
    for plan in desk.plans:
        orders, descriptors = told[plan.name]
        arrived = wire.decode(memoryview(wire.encode(Assignment(plan, orders))))
        assert arrived.plan == plan
        assert RunConfig.model_validate(arrived.orders["config"]) == blueprint.config
        assert arrived.orders["hyperparams"] == {
            name: member.hyperparams for name, member in members.items()
        }
        assert arrived.orders["servers"] == 2 and ("states" in arrived.orders) == bool(plan.groups)
        assert len(set(descriptors)) == len(descriptors)
        assert {fd for fd, _ in arrived.orders["memory"]["regions"].values()} <= set(descriptors)
        if plan.groups:
            shares = equal_shares(blueprint, arrived.orders["partitions"])
            assert shares == desk.shared.shares
            states = convert(arrived.orders["states"], list[SavedWorker])
            assert [state.tables.table for state in states] == [
                list(shares[group].tables) for group in plan.groups
            ]
            planner(blueprint).load(convert(arrived.orders["planner"], SavedPlanner))
