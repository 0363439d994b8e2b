"""When processes that died are started again."""

from hypothesis import given
from hypothesis import strategies as st

from pbt.processes.restarts import FIRST_DELAY_S, LONGEST_DELAY_S, RestartPolicy


def test_the_first_of_a_row_starts_at_once_the_others_later_and_later() -> None:
    policy = RestartPolicy(8)
    assert [policy.died(0) for _ in range(9)] == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0, None]
    assert policy.died(0) is None and policy.in_a_row == 10


def test_progress_begins_a_new_row() -> None:
    policy = RestartPolicy(2)
    assert [policy.died(progress) for progress in (0, 0, 3, 3, 4, 4, 4)] == [
        0.0,
        0.5,
        0.0,
        0.5,
        0.0,
        0.5,
        None,
    ]


def test_none_is_forgiven_when_none_may_be() -> None:
    assert RestartPolicy(0).died(10**9) is None


@given(st.integers(0, 6), st.lists(st.integers(0, 2), max_size=40))
def test_it_gives_up_after_exactly_so_many_in_a_row(most: int, steps: list[int]) -> None:
    policy, progress, row = RestartPolicy(most), 0, 0
    for number, step in enumerate(steps):
        progress += step
        row = 1 if step or number == 0 else row + 1
        delay_s = policy.died(progress)
        assert policy.in_a_row == row
        assert (delay_s is None) == (row > most)
        if delay_s is not None:
            assert delay_s == 0.0 if row == 1 else FIRST_DELAY_S <= delay_s <= LONGEST_DELAY_S
