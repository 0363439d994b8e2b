"""The counts of processes go on after their deaths."""

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.runtime import process_counters as tally
from pbt.runtime.engine import ProcessStatus
from pbt.runtime.placements import ProcessPlan, Shard
from pbt.runtime.process_counters import ProcessCounters
from pbt.runtime.process_group import ProcessGroup
from pbt.transport.process_board import ProcessBoard

PLANS = (
    ProcessPlan("worker-0", (0,)),
    ProcessPlan("server-0", serves=0),
    ProcessPlan("learner-0", trains=(Shard("m0"), Shard("m1"))),
)
NAMES = [plan.name for plan in PLANS]
COUNTED = (
    "produced",
    "dropped_voided",
    "dropped_generation",
    "rows_served",
    "trained",
    "simulate_s",
    "infer_s",
    "wait_s",
    "gather_s",
    "learn_s",
)


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from((*COUNTED, "death")), st.integers(0, 9)),
        max_size=60,
    )
)
def test_counters_survive_every_death(story: list[tuple[str, str, int]]) -> None:
    board, expected = ProcessBoard(len(PLANS)), {name: Counter[str]() for name in NAMES}
    found = ProcessCounters(ProcessGroup(PLANS, board, 60.0, {"game": 60.0}))
    for name, what, amount in story:
        row = board.row(NAMES.index(name))
        row.enter("simulating")
        row.set("queue", 5.0)
        if what == "death":
            found.bury([name])
            # The row as the next process finds it, and as the group leaves it at a start.
            assert set(row.read().values()) == {0.0}
            row.clear()
        else:
            row.add(what, amount)
            expected[name][what] += amount
    for name in NAMES:
        assert {column: found.of(name)[column] for column in COUNTED} == {
            column: expected[name][column] for column in COUNTED
        }
        assert not {"beat_s", "phase", "queue"} & found.of(name).keys(), "no sum of moments"
    total = sum(expected.values(), Counter[str]())
    assert found.produced() == total["produced"]
    assert found.dropped() == Counter(
        voided=total["dropped_voided"], generation=total["dropped_generation"]
    )
    assert found.stage_s() == {
        stage: total[f"{stage}_s"] for stage in ("simulate", "infer", "wait", "gather", "learn")
    }


def test_a_checkpoint_counts_on() -> None:
    board = ProcessBoard(len(PLANS))
    found = ProcessCounters(ProcessGroup(PLANS, board, 60.0, {"game": 60.0}))
    found.produced_before, found.dropped_before = 100, Counter(generation=7, error=2)
    board.row(0).set("produced", 11)
    board.row(0).set("dropped_generation", 3)
    assert found.produced() == 111
    assert found.dropped() == {"generation": 10, "error": 2}
    found.bury(["worker-0"])
    board.row(0).set("produced", 4)
    assert found.produced() == 115 and found.dropped()["generation"] == 10


def test_what_every_process_does_now(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [1000.0]
    monkeypatch.setattr(tally.time, "monotonic", lambda: now_s[0])
    board = ProcessBoard(len(PLANS))
    processes = ProcessGroup(PLANS, board, 60.0, {"game": 60.0})
    processes.restarts["server-0"], found = 2, ProcessCounters(processes)
    children = cast(dict[str, Any], processes.children)
    for number, name in enumerate(NAMES):
        children[name] = SimpleNamespace(pid=40 + number, started_s=990.0)
    waiting = {"m0": 3, "m1": 4}

    def statuses() -> dict[str, ProcessStatus]:
        return {status.name: status for status in found.statuses(waiting)}

    board.row(0).enter("game", 3)
    now_s[0] += 0.75
    first = statuses()
    assert list(first) == NAMES
    worker, server, learner = first.values()
    assert (worker.pid, worker.roles, worker.state, worker.rate, worker.queue) == (
        40,
        ("worker",),
        "game",
        0.0,
        0,
    )
    assert worker.beat_age_s == 0.75 and worker.stage_s == {}
    assert (server.state, server.restarts, server.beat_age_s) == ("starting", 2, 10.75), (
        "it has not beaten since it was started"
    )
    assert (learner.roles, learner.queue) == (("learner m0 m1",), 7)

    board.row(0).add("produced", 300)
    board.row(1).add("rows_served", 80)
    board.row(1).set("queue", 6)
    board.row(2).add("trained", 50)
    board.row(2).add("learn_s", 1.5)
    now_s[0] += 0.5
    assert statuses()["worker-0"].rate == 0.0, "too short a time for a speed"
    now_s[0] += 1.5
    second = statuses()
    assert [status.rate for status in second.values()] == [150.0, 40.0, 25.0]
    assert second["server-0"].queue == 6 and second["learner-0"].stage_s == {"learn": 1.5}

    del children["worker-0"]
    found.bury(["worker-0"])
    now_s[0] += 2.0
    down = statuses()["worker-0"]
    assert (down.pid, down.state, down.rate, down.beat_age_s) == (0, "down", 0.0, 0.0)
