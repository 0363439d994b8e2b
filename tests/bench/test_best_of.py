"""The simulation of the best of many: its leagues, and how their figures are added up."""

import numpy as np
import pytest

from bench.best_of import COPIED_AT, KINDS, LENGTH, RANDOM, SNAPSHOTS, league, one_league, summary


@pytest.mark.parametrize("kind", KINDS)
def test_a_league_is_fair_to_both_sides(kind: str) -> None:
    made = league(kind, np.random.default_rng(1))
    assert made.win + made.win.T + made.draw == pytest.approx(np.ones((101, 101)))
    assert np.array_equal(made.pairs, made.pairs.T)
    assert np.all(made.pairs[RANDOM, :RANDOM] == 10)
    scores = [made.score(i, RANDOM) for i in range(SNAPSHOTS)]
    if kind == "circle":
        assert scores == pytest.approx([0.5] * SNAPSHOTS)
        assert np.ptp(made.win[:RANDOM, :RANDOM]) > 0.1
    else:
        assert min(scores) > 0.4


def test_three_members_copy_the_first_one_halfway() -> None:
    parents = league("equals", np.random.default_rng(1)).parents
    assert [i for i, parent in enumerate(parents) if parent is None] == [0, 25, 50, 75]
    assert [parents[member * LENGTH + COPIED_AT] for member in range(4)] == [11, 11, 11, 11]
    assert parents[30] == 29


def test_a_league_has_the_same_figures_again() -> None:
    first, again = (one_league("rising", np.random.default_rng([27, 1, 0])) for _ in range(2))
    assert first == again
    assert first["fresh random: width"] > 0


def test_hundreds_of_leagues_are_added_up() -> None:
    rng = np.random.default_rng(3)
    values = [rng.normal(size=5), rng.normal(size=9)]
    chunks = {
        str(index): {"bias": [float(row.mean()), float(np.mean(row**2)), len(row)]}
        for index, row in enumerate(values)
    }
    both = np.concatenate(values)
    found = summary(chunks)["bias"]
    assert found["mean"] == pytest.approx(both.mean())
    assert found["error"] == pytest.approx(both.std() / np.sqrt(14))
