"""Changes of a group's strength: against slow references, and how often they err."""

import math

import numpy as np
import pytest

from arena.stats.changes import LevelChanges, level_changes

NORMAL = 1.959963984540054
HISTORIES = 300


def made_up(
    members: int,
    snapshots: int,
    seed: int,
    *,
    noise: float = 40.0,
    wobble: float = 0.0,
    rise: float = 0.0,
) -> LevelChanges:
    """Members of different strengths, measured with noise that differs from game to game.

    wobble  standard deviation of what each snapshot is truly stronger or weaker by
    rise    by how much all members grow from the first to the last frame
    """
    rng = np.random.default_rng(seed)
    names = np.repeat([f"m{one}" for one in range(members)], snapshots)
    frames = np.tile(np.arange(snapshots) * 100_000, members) + rng.integers(0, 20_000, len(names))
    errors = noise * rng.uniform(0.6, 2.5, len(names))
    true = np.repeat(rng.normal(0, 100, members), snapshots) + rng.normal(0, wobble, len(names))
    true += rise * frames / 1e5 / max(1, snapshots - 1)
    values = true + rng.normal(0, errors)
    found = level_changes(names.tolist(), frames.tolist(), values, np.diag(errors**2))
    assert found is not None
    return found


def test_two_snapshots_of_one_member_are_their_difference() -> None:
    covariance = np.array([[9.0, 2.0], [2.0, 25.0]])
    found = level_changes(["m0", "m0"], [0, 500], np.array([10.0, 31.0]), covariance)
    assert found is not None
    assert found.frames.tolist() == [500] and found.values[0] == pytest.approx(21.0)
    assert found.errors[0] == pytest.approx(math.sqrt(9 + 25 - 2 * 2))
    assert found.quantile == pytest.approx(NORMAL, rel=0.05)
    assert found.levels.tolist() == pytest.approx([10.0, 31.0])
    assert found.lows[0] < 21.0 < found.highs[0]


def test_members_of_two_moments_are_compared_with_themselves() -> None:
    """The mean of the differences of the members, each with the weight of its certainty."""
    values = np.array([0.0, 100.0, 500.0, 560.0])
    errors = np.array([3.0, 4.0, 6.0, 8.0])
    found = level_changes(["m0", "m0", "m1", "m1"], [0, 900, 10, 910], values, np.diag(errors**2))
    assert found is not None
    # Both members moved by different amounts, more than noise explains, so the rest has a variance.
    weights = 1 / np.array([3.0**2 + 4.0**2, 6.0**2 + 8.0**2])
    fixed = (weights @ [100.0, 60.0]) / weights.sum()
    assert min(fixed, 80.0) <= found.values[0] <= max(fixed, 80.0)
    assert found.errors[0] > 1 / math.sqrt(weights.sum())


def test_a_weak_member_that_was_not_measured_again_is_no_gain() -> None:
    found = level_changes(
        ["m0", "m0", "m1", "m2", "m2"],
        [0, 1000, 0, 0, 1000],
        np.array([400.0, 400.0, -300.0, 380.0, 380.0]),
        np.diag(np.full(5, 25.0)),
    )
    assert found is not None
    assert found.values[0] == pytest.approx(0.0, abs=1e-6)


def test_nothing_can_be_told_of_members_that_were_rated_once_or_without_noise() -> None:
    assert level_changes(["m0", "m1"], [0, 9], np.zeros(2), np.eye(2)) is None
    assert level_changes([], [], np.zeros(0), np.zeros((0, 0))) is None
    assert level_changes(["m0", "m0"], [0, 9], np.arange(2.0), np.zeros((2, 2))) is None


@pytest.mark.parametrize(
    ("members", "snapshots", "wobble"),
    [(1, 2, 0), (1, 10, 0), (2, 2, 0), (4, 3, 0), (4, 10, 0), (16, 6, 0), (4, 10, 40), (1, 20, 60)],
)
def test_noise_is_called_a_change_in_five_of_a_hundred_histories_at_most(
    members: int, snapshots: int, wobble: float
) -> None:
    found = [made_up(members, snapshots, seed, wobble=wobble) for seed in range(HISTORIES)]
    rose = sum(bool((one.lows > 0).any()) for one in found)
    fell = sum(bool((one.highs < 0).any()) for one in found)
    # 5 % are 15; the bound is three standard deviations above that.
    assert rose <= 26 and fell <= 26 and rose + fell <= 15 + 3 * 6


@pytest.mark.parametrize(("members", "snapshots", "wobble"), [(4, 6, 0), (8, 10, 30)])
def test_the_true_changes_are_inside_together(members: int, snapshots: int, wobble: float) -> None:
    inside = 0
    for seed in range(HISTORIES):
        found = made_up(members, snapshots, seed, wobble=wobble, rise=300.0)
        true = 300.0 * found.frames / 1e5 / (snapshots - 1)
        inside += bool(((found.lows <= true) & (true <= found.highs)).all())
    assert inside >= 0.9 * HISTORIES


def test_a_rise_that_is_larger_than_noise_is_found() -> None:
    found = [made_up(4, 8, seed, rise=300.0) for seed in range(50)]
    assert sum(bool(one.lows[0] > 0) for one in found) >= 48


def test_more_groups_ask_for_wider_intervals() -> None:
    arguments = (["m0", "m0"], [0, 500], np.array([10.0, 31.0]), np.eye(2))
    one, three = level_changes(*arguments), level_changes(*arguments, among=3)
    assert one is not None and three is not None
    assert one.quantile < three.quantile == pytest.approx(2.394, rel=0.05)


def test_thousands_of_snapshots_are_thinned_evenly() -> None:
    rng = np.random.default_rng(0)
    names = np.repeat([f"m{one}" for one in range(64)], 30)
    frames = np.tile(np.arange(30) * 1000, 64)
    values = frames / 100 + rng.normal(0, 5, len(names))
    found = level_changes(names.tolist(), frames.tolist(), values, np.diag(np.full(len(names), 25)))
    assert found is not None and (found.lows > 0).all()
    assert found.values[0] == pytest.approx(found.frames[0] / 100, rel=0.05)
