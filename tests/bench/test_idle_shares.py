"""The bench of idle shares: its laws, and one short measurement."""

import pytest

from bench.idle_shares import STEPS, follows, law, measured


def test_two_sets_gain_most_where_both_sides_take_equally_long() -> None:
    gains = {
        ratio: law("sync", 1, 1.0, ratio, 0.0)["step_s"]
        / law("async", 2, 1.0, ratio / 2, 0.0)["step_s"]
        for ratio in (0.2, 1.0, 5.0)
    }
    assert gains[1.0] == 2.0 and max(gains[0.2], gains[5.0]) < 1.3
    assert law("sync", 1, 1.0, 1.0, 0.0) == {"step_s": 2.0, "worker": 0.5, "server": 0.5}
    assert law("async", 2, 1.0, 0.5, 0.0) == {"step_s": 1.0, "worker": 0.0, "server": 0.0}
    assert law("async", 2, 1.0, 1.0, 0.0) == {"step_s": 2.0, "worker": 0.5, "server": 0.0}


def test_a_rollout_begins_and_ends_with_one_side_alone() -> None:
    for ratio in (0.2, 0.5, 2.0):
        between = law("async", 2, 1.0, ratio, 0.0)["step_s"]
        within = law("alternating", 2, 1.0, ratio, 0.0)["step_s"]
        assert within - between == pytest.approx(min(ratio, 0.5) / STEPS)


def test_what_is_off_does_not_follow() -> None:
    expected = law("sync", 1, 1.0, 1.0, 0.0)
    assert follows(expected, expected)
    assert follows({"step_s": 2.19, "worker": 0.54, "server": 0.46}, expected)
    assert not follows({**expected, "step_s": 2.3}, expected)
    assert not follows({**expected, "worker": 0.56}, expected)
    assert not follows({**expected, "server": 0.4}, expected)


@pytest.mark.parametrize(("rhythm", "sets"), [("async", 1), ("alternating", 2)])
def test_a_step_takes_at_least_what_sleeping_takes(rhythm: str, sets: int) -> None:
    found = measured(rhythm, sets, 0.002, 0.016, 0.5)
    least = law(rhythm, sets, 0.016, 0.016, 0.0)["step_s"]
    assert 0.95 * least < found["step_s"]
    assert 0.0 <= found["worker"] < 1.0 and 0.0 <= found["server"] < 1.0
