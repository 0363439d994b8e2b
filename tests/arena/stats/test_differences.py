"""Changes between two moments: their intervals, and how often one is called sure by mistake."""

import numpy as np
import pytest
from scipy.stats import fisher_exact, ttest_ind

from arena.stats.differences import chance, changes, difference_interval
from arena.stats.group_results import GroupResult, PairResults, group_results
from arena.stats.intervals import wilson_interval
from arena.stats.score import Tally


def scored(wins: int, games: int) -> GroupResult:
    tally = Tally(wins, 0, games - wins)
    return GroupResult(0, 1, games, tally, tally.score, *wilson_interval(tally.score, games))


def returned(values: np.ndarray) -> GroupResult:
    units = np.zeros((1, 2, 3))
    units[0, 1] = len(values), values.sum(), (values**2).sum()
    one = np.zeros(1, dtype=np.intp)
    return group_results(PairResults(one, one, np.zeros((1, 3)), units), "return")[0]


def test_scores_have_the_interval_of_newcombe() -> None:
    """His example: 56 of 70 less 48 of 80 is 0.2, from 0.0524 to 0.3339 (1998, table II, 10)."""
    found = difference_interval(scored(48, 80), scored(56, 70))
    assert found == pytest.approx((0.0524, 0.3339), abs=5e-5)
    back = difference_interval(scored(56, 70), scored(48, 80))
    assert back == pytest.approx((-0.3339, -0.0524), abs=5e-5)


def test_scores_have_the_test_of_fisher() -> None:
    for (won, games), (later, more) in (((3, 10), (18, 20)), ((30, 40), (2, 9)), ((5, 5), (7, 7))):
        side = "greater" if later / more > won / games else "less"
        table = [[later, more - later], [won, games - won]]
        one_sided = fisher_exact(table, alternative=side).pvalue
        assert chance(scored(won, games), scored(later, more)) == pytest.approx(
            min(1.0, 2 * one_sided)
        )


def test_means_have_the_interval_of_welch() -> None:
    rng = np.random.default_rng(1)
    early, late = rng.normal(0, 1, 12), rng.normal(1, 3, 30)
    found = difference_interval(returned(early), returned(late))
    told = ttest_ind(late, early, equal_var=False).confidence_interval(0.95)
    assert found == pytest.approx((told.low, told.high))
    p = ttest_ind(late, early, equal_var=False).pvalue
    assert chance(returned(early), returned(late)) == pytest.approx(p)
    (change,) = changes([(returned(early), returned(late))])
    assert change.difference == pytest.approx(late.mean() - early.mean())
    assert (change.low, change.high) == difference_interval(returned(early), returned(late))


def test_what_never_varied_is_not_sure() -> None:
    (change,) = changes([(returned(np.ones(5)), returned(np.zeros(5)))])
    assert (change.difference, change.low, change.high, change.sure) == (-1.0, None, None, False)


@pytest.mark.parametrize(("before", "after"), [(30, 30), (8, 200)])
@pytest.mark.parametrize("score", [0.5, 0.9, 0.99])
def test_even_one_wrong_change_is_rare(score: float, before: int, after: int) -> None:
    """Twenty pairs that have not changed, 200 times."""
    rng, wrong, covered, trials = np.random.default_rng(7), 0, 0, 200
    for _ in range(trials):
        pairs = [
            (
                scored(int(rng.binomial(before, score)), before),
                scored(int(rng.binomial(after, score)), after),
            )
            for _ in range(20)
        ]
        found = changes(pairs)
        wrong += any(one.sure for one in found)
        covered += sum(one.low <= 0 <= one.high for one in found)  # type: ignore[operator]
    assert wrong / trials <= 0.05
    assert covered / (20 * trials) >= 0.93


def test_a_real_change_is_sure() -> None:
    found = changes([(scored(10, 60), scored(50, 60)), *[(scored(30, 60), scored(31, 60))] * 19])
    assert [one.sure for one in found] == [True] + [False] * 19


def test_draws_make_no_wrong_change() -> None:
    rng, wrong, trials = np.random.default_rng(3), 0, 200
    for _ in range(trials):
        pairs = []
        for _ in range(20):
            early, late = (rng.multinomial(games, (0.3, 0.5, 0.2)) for games in (12, 60))
            pairs.append((drawn(early), drawn(late)))
        wrong += any(one.sure for one in changes(pairs))
    assert wrong / trials <= 0.05


def drawn(counts: np.ndarray) -> GroupResult:
    tally = Tally(*(int(count) for count in counts))
    ends = wilson_interval(tally.score, tally.games)
    return GroupResult(0, 1, tally.games, tally, tally.score, *ends)
