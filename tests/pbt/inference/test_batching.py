"""No request is lost, mixed up or kept waiting, and batches grow with the load."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pbt.inference.batching import MAX_WAIT_S, Key, RequestQueues
from pbt.inference.requests import Incoming
from pbt.transport.messages import ActionRequest, joined

# Of a microsecond: what adding up times of this size may lose.
ROUNDING_S = 1e-9


def incoming(
    number: int, policy: int, rows: int, *, role: int = 0, greedy: bool = False
) -> Incoming:
    """Every row of it carries its number."""
    named, unsigned = np.full(rows, number), np.full(rows, number, np.uint64)
    return Incoming(
        number % 3, number, ActionRequest(policy, role, named, named, unsigned, unsigned, greedy)
    )


def key_of(one: Incoming) -> Key:
    return Key(one.request.policy, one.request.role, one.request.greedy)


ARRIVALS = st.lists(
    st.tuples(
        st.floats(0, 3e-3), st.integers(0, 3), st.integers(0, 1), st.booleans(), st.integers(1, 40)
    ),
    min_size=1,
    max_size=80,
)


@given(arrivals=ARRIVALS, forward_s=st.floats(1e-5, 5e-3))
def test_everything_is_served_once_in_order_and_in_time(
    arrivals: list[tuple[float, int, int, bool, int]], forward_s: float
) -> None:
    """Let one server serve the queues; it takes the longest waiting one of those that are due.

    Time passes while it waits and while it acts.
    """
    queues, now_s = RequestQueues(), 0.0
    arriving: list[tuple[float, Incoming]] = []
    at_s = 0.0
    for number, (pause_s, policy, role, greedy, rows) in enumerate(arrivals):
        at_s += pause_s
        arriving.append((at_s, incoming(number, policy, rows, role=role, greedy=greedy)))
    arrived_s = {one.number: at_s for at_s, one in arriving}
    served: list[int] = []
    keys = {key_of(one) for _, one in arriving}
    while arriving or queues.rows:
        while arriving and arriving[0][0] <= now_s:
            queues.add(arriving.pop(0)[1], now_s)
        due = queues.due(now_s)
        assert (queues.wait_s(now_s) == 0) == bool(due)
        if not due:
            until_s = now_s + queues.wait_s(now_s) + ROUNDING_S
            now_s = min(until_s, arriving[0][0]) if arriving else until_s
            assert now_s < math.inf
            continue
        taken = queues.take(due[0], now_s)
        assert {key_of(one) for one in taken} == {due[0]}, (
            "rows of one queue are acted on together, no others"
        )
        assert [one.number for one in taken] == sorted(one.number for one in taken)
        merged = joined([one.request for one in taken])
        assert (
            merged.slots.tolist()
            == merged.rows.tolist()
            == [one.number for one in taken for _ in one.request.slots]
        )
        assert merged.keys.dtype == merged.steps.dtype == np.uint64 and len(merged.keys) == len(
            merged.steps
        ) == len(merged.slots)
        served += [one.number for one in taken]
        # The other queues may stand before it, each once.
        longest_s = max(MAX_WAIT_S, forward_s) + (len(keys) + 1) * forward_s + ROUNDING_S
        assert all(now_s - arrived_s[one.number] <= longest_s for one in taken)
        now_s += forward_s
        queues.served(forward_s)
    assert sorted(served) == list(range(len(arrivals)))


def test_the_first_request_is_served_at_once() -> None:
    queues = RequestQueues()
    queues.add(incoming(0, 0, 1), 5.0)
    assert queues.due(5.0) == [Key(0, 0, False)] and queues.wait_s(5.0) == 0.0
    queues.take(Key(0, 0, False), 5.0)
    assert queues.wait_s(6.0) == math.inf and queues.due(6.0) == []


def test_under_load_a_batch_is_what_arrives_during_one_forward() -> None:
    """4 rows every 0.1 ms and forwards of 1 ms give batches of 40 rows.

    A queue with fewer rows waits for more, for one forward at most.
    """
    queues, key = RequestQueues(), Key(0, 0, False)
    now_s = 0.0
    for number in range(400):
        now_s = number * 1e-3
        for part in range(10):
            queues.add(incoming(number, 0, 4), now_s - (9 - part) * 1e-4)
        assert queues.due(now_s) == [key]
        queues.take(key, now_s)
        queues.served(1e-3)
    assert queues.target(key) == 40
    start_s = now_s + 1e-4
    queues.add(incoming(1, 0, 39), start_s)
    assert queues.due(start_s) == [] and math.isclose(queues.wait_s(start_s), 1e-3, rel_tol=1e-6)
    queues.add(incoming(2, 0, 1), start_s + 1e-4)
    assert queues.due(start_s + 1e-4) == [key] and queues.rows == 40


def test_without_load_nobody_waits() -> None:
    """32 rows every 10 ms, forwards of 1 ms: the next 32 would not come in time."""
    queues, key = RequestQueues(), Key(0, 0, False)
    for number in range(50):
        queues.add(incoming(number, 0, 32), number * 1e-2)
        assert queues.due(number * 1e-2) == [key]
        queues.take(key, number * 1e-2)
        queues.served(1e-3)


def test_a_lonely_row_waits_at_least_a_little() -> None:
    """Forwards shorter than MAX_WAIT_S."""
    queues, key = RequestQueues(), Key(0, 0, False)
    for number in range(50):
        queues.add(incoming(number, 0, 100), number * 1e-4)
        queues.take(key, number * 1e-4)
        queues.served(1e-4)
    queues.add(incoming(50, 0, 1), 1.0)
    assert queues.due(1.0) == [] and math.isclose(queues.wait_s(1.0), MAX_WAIT_S)
    assert queues.due(1.0 + MAX_WAIT_S) == [key]


def test_the_longest_waiting_queue_comes_first() -> None:
    queues = RequestQueues()
    for number, policy in enumerate([2, 0, 1, 2]):
        queues.add(incoming(number, policy, 1), number * 1e-3)
    assert [key.policy for key in queues.due(1.0)] == [2, 0, 1]
    queues.take(Key(2, 0, False), 1.0)
    queues.add(incoming(4, 2, 1), 1.0)
    assert [key.policy for key in queues.due(2.0)] == [0, 1, 2]


def test_a_forgotten_policy_leaves_no_figures() -> None:
    queues, key = RequestQueues(), Key(0, 0, False)
    for number in range(3):
        queues.add(incoming(number, 0, 8), number * 1.0)
        queues.take(key, number * 1.0)
        queues.served(1.0)
    assert queues.target(key) > 0
    queues.forget(0)
    assert queues.target(key) == 0
