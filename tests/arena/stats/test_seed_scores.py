"""Intervals over seeds: their formula, their coverage, and runs that all agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import t

from arena.stats.seed_scores import seed_lead, seed_score
from pbt.errors import EngineError

tables = st.tuples(st.integers(2, 6), st.integers(2, 6), st.integers(0, 10**6)).map(
    lambda found: np.random.default_rng(found[2]).uniform(0.2, 0.8, (found[0], found[1]))
)


@given(tables)
def test_the_interval_is_that_of_rows_and_columns(scores: NDArray[np.float64]) -> None:
    rows = [sum(row) / len(row) for row in scores.tolist()]
    columns = [sum(column) / len(column) for column in zip(*scores.tolist(), strict=True)]
    parts = []
    for means in (rows, columns):
        centre = sum(means) / len(means)
        parts.append(
            (
                sum((mean - centre) ** 2 for mean in means) / (len(means) - 1) / len(means),
                len(means) - 1,
            )
        )
    error = sum(part for part, _ in parts)
    freedom = error**2 / sum(part**2 / free for part, free in parts)
    half = t.ppf(0.975, freedom) * error**0.5
    found = seed_score(scores, 10**9)
    assert found.mean == pytest.approx(sum(rows) / len(rows))
    assert (found.low, found.high) == pytest.approx(
        (max(0.0, found.mean - half), min(1.0, found.mean + half)), abs=1e-6
    )
    other = seed_score(1 - scores.T, 10**9)
    assert found.low is not None and other.high is not None
    assert other.high == pytest.approx(1 - found.low, abs=1e-9) and {
        found.verdict,
        other.verdict,
    } in ({"undecided"}, {"better", "worse"})


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("ahead", [0.0, 0.5])
@pytest.mark.parametrize("spread", [0.05, 0.3])
def test_intervals_hold_the_truth_as_often_as_promised(
    seeds: int, ahead: float, spread: float
) -> None:
    """2 000 comparisons with 400 games for each pair of runs.

    The runs differ in strength by `spread` logistic units.
    """
    rng, comparisons = np.random.default_rng(1), 2000
    truth = float(expit(rng.normal(ahead, spread * 2**0.5, 400_000)).mean())
    a, b = (
        rng.normal(ahead, spread, (comparisons, seeds, 1)),
        rng.normal(0.0, spread, (comparisons, 1, seeds)),
    )
    scores = rng.binomial(400, expit(a - b)) / 400
    found = [seed_score(one, 400) for one in scores]
    held = np.mean(
        [
            one.low is not None and one.high is not None and one.low <= truth <= one.high
            for one in found
        ]
    )
    assert held >= 0.94
    if ahead == 0.0:
        assert np.mean([one.verdict != "undecided" for one in found]) <= 0.06


def test_runs_that_all_agree_are_not_known_for_certain() -> None:
    found = seed_score(np.ones((3, 3)), 20)
    assert (
        found.high == 1.0
        and found.low is not None
        and 0.95 < found.low < 1.0
        and found.verdict == "better"
    )
    even = seed_score(np.full((2, 2), 0.5), 20)
    assert (
        even.low is not None
        and even.high is not None
        and even.low < 0.35
        and even.high > 0.65
        and even.verdict == "undecided"
    )
    assert seed_score(np.zeros((3, 3)), 20).verdict == "worse"


def test_one_seed_decides_nothing() -> None:
    for shape in ((1, 1), (1, 4), (4, 1)):
        found = seed_score(np.ones(shape), 1000)
        assert (found.mean, found.low, found.high, found.verdict) == (1.0, None, None, "undecided")


@pytest.mark.parametrize(
    "scores",
    [
        np.array([[np.nan, 0.5], [0.5, 0.5]]),
        np.array([[1.1, 0.5], [0.5, 0.5]]),
        np.zeros((0, 3)),
        np.zeros(3),
    ],
)
def test_what_are_no_scores_is_refused(scores: NDArray[np.float64]) -> None:
    with pytest.raises(EngineError, match="expected a row per run of A"):
        seed_score(scores, 10)


def test_leads_are_as_certain_as_scores_in_another_unit() -> None:
    """Scores moved to 0 and stretched give the same interval, moved and stretched."""
    scores = np.random.default_rng(4).uniform(0.3, 0.7, (3, 4))
    total, mean = 400 * scores.size, float(scores.mean())
    shrunk = (mean * total + 1) / (total + 2)
    variances = np.full(scores.shape, shrunk * (1 - shrunk) / 400 * 100)
    found, moved = seed_score(scores, 400), seed_lead((scores - 0.5) * 10, variances)
    assert found.low is not None and found.high is not None
    assert (moved.mean, moved.low, moved.high) == pytest.approx(
        tuple((end - 0.5) * 10 for end in (found.mean, found.low, found.high))
    )
    assert moved.freedom == pytest.approx(found.freedom) and moved.verdict == found.verdict


def test_leads_that_all_agree_are_known_as_well_as_their_games() -> None:
    same = seed_lead(np.full((2, 3), 1.5), np.full((2, 3), 0.06))
    assert same.low is not None and same.high is not None and same.low < 1.4 < 1.6 < same.high
    nothing = seed_lead(np.full((2, 2), 1.5), np.zeros((2, 2)))
    assert (nothing.low, nothing.high, nothing.verdict) == (None, None, "undecided")


@pytest.mark.parametrize(
    ("leads", "variances"),
    [
        (np.array([[np.inf]]), np.zeros((1, 1))),
        (np.zeros((1, 2)), np.zeros((2, 1))),
        (np.zeros((1, 1)), np.full((1, 1), -1.0)),
        (np.zeros((0, 3)), np.zeros((0, 3))),
    ],
)
def test_what_are_no_leads_is_refused(
    leads: NDArray[np.float64], variances: NDArray[np.float64]
) -> None:
    with pytest.raises(EngineError, match="expected a row per run of A"):
        seed_lead(leads, variances)
