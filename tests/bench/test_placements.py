"""Speeds are taken from one update to a later one, and say how finely they were counted."""

from typing import Any

import pytest

from bench.placements import lag_figures, resolution, speed, spread


def points(member: str, *clock: tuple[float, int]) -> list[dict[str, Any]]:
    return [{"member": member, "t": t, "frames": frames} for t, frames in clock]


def test_a_speed_is_that_between_the_first_and_the_last_update_of_each_member() -> None:
    # 2 000 frames in 4 s and 900 in 3 s, whenever the time measured began and ended.
    first, second = (
        points("m0", (10.0, 5_000), (11.5, 6_000), (14.0, 7_000)),
        points("m1", (10.5, 100), (13.5, 1_000)),
    )
    assert speed(first + second) == pytest.approx(500.0 + 300.0)
    assert speed([first[0], second[0], first[1], second[1], first[2]]) == pytest.approx(800.0)


def test_where_between_two_updates_one_looked_makes_no_difference() -> None:
    """A batch of 8 192 frames each 4 s: a counter that is looked at over 30 s would have moved
    by 7 or 8 of them, 13 % apart.
    """
    updates = [(4.0 * number, 8_192 * number) for number in range(100)]
    for begin in (100.0, 101.0, 102.9, 103.9):
        seen = [(t, frames) for t, frames in updates if begin <= t <= begin + 30.0]
        assert speed(points("0", *seen)) == pytest.approx(2_048.0)


def test_a_figure_says_how_finely_it_was_counted() -> None:
    found = resolution(
        points("m0", (10.0, 1_000), (12.0, 3_000), (15.0, 7_000))
        + points("m1", (11.0, 0), (14.0, 1_500))
    )
    assert found == {"step_frames": 1_500, "step_s": 3.0, "measured_s": 4.0}


@pytest.mark.parametrize(
    "seen",
    [[], points("m0", (1.0, 10)), points("m0", (1.0, 10), (2.0, 20)) + points("m1", (1.0, 10))],
)
def test_one_update_is_no_speed(seen: list[dict[str, Any]]) -> None:
    for figure in (speed, resolution):
        with pytest.raises(
            SystemExit, match=r"expected two or more of each; measure longer with --seconds"
        ):
            figure(seen)


def test_lags_and_spreads() -> None:
    assert lag_figures([{"lag_mean": 1.0, "lag_max": 3}, {"lag_mean": 2.0, "lag_max": 2}]) == {
        "updates": 2,
        "lag_mean": 1.5,
        "lag_max": 3,
    }
    assert spread([3.0, 1.0, 7.0]) == {"median": 3.0, "min": 1.0, "max": 7.0}
