"""Sums of units of margin, and how much a unit of each kind varies."""

import math

import numpy as np
import pytest

from arena.stats.margin_ratings import fit_margins
from arena.stats.margin_units import MarginResult, Units, mean_margins, summed, unit_noise
from pbt.errors import EngineError
from tests.arena.stats.margin_leagues import Floats, units


@pytest.mark.parametrize(
    "wrong",
    [
        MarginResult("a", "a", 3, 1.0, 1.0),
        MarginResult("a", "b", 0, 0.0, 0.0),
        MarginResult("a", "b", 2, 4.0, 1.0),
        MarginResult("a", "b", 2, math.nan, 1.0),
        MarginResult("a", "b", 2, 1.0, math.inf),
    ],
)
def test_sums_that_no_units_have_are_refused(wrong: MarginResult[str]) -> None:
    with pytest.raises(EngineError, match="expected two players"):
        fit_margins([wrong], None)


def test_variances_of_pairs_are_shrunk_to_the_pooled_one() -> None:
    """Equal true variances are pooled almost wholly; different ones hardly at all."""
    rng = np.random.default_rng(2)
    deviations = np.where(np.arange(40) % 2, 1.0, 5.0)

    def noise(scale: Floats) -> tuple[Floats, Floats, float]:
        margins = scale[:, None] * rng.normal(size=(40, 6))
        own = margins.var(1, ddof=1)
        found = unit_noise(Units(np.full(40, 6.0), margins.mean(1), 5 * own))
        return found.variance, own, found.pooled

    alike, own, pooled = noise(np.ones(40))
    assert np.abs(alike - pooled).mean() < 0.5 * np.abs(own - pooled).mean()
    different, own, _ = noise(deviations)
    truth = deviations**2
    assert np.mean((different - truth) ** 2) < np.mean((own - truth) ** 2)
    assert different[deviations == 5].mean() > 2 * different[deviations == 1].mean()


def kinds(results: list[MarginResult[str]]) -> tuple[Units, Units]:
    sums = summed(results)
    return sums.pairs, sums.singles


def test_pairs_and_single_games_count_by_their_own_variances() -> None:
    rng = np.random.default_rng(5)
    pairs, singles = rng.normal(1.0, 1.0, 40), rng.normal(1.0, 6.0, 40)
    found = mean_margins(
        *kinds([units("a", "b", pairs.tolist(), paired=True), units("b", "a", (-singles).tolist())])
    )
    by_kind = [40 / pairs.var(ddof=1), 40 / singles.var(ddof=1)]
    assert found.error[0] == pytest.approx(1 / sum(by_kind))
    assert found.mean[0] == pytest.approx(
        (by_kind[0] * pairs.mean() + by_kind[1] * singles.mean()) / sum(by_kind)
    )
    assert found.number.tolist() == [80.0]
    # The part of a kind is the slope of the error in the logarithm of its variance.
    for kind in range(2):
        moved = [1 / (one / 1.001 if at == kind else one) for at, one in enumerate(by_kind)]
        slope = (1 / sum(1 / one for one in moved) - found.error[0]) / math.log(1.001)
        assert found.parts[kind, 0] == pytest.approx(slope, rel=1e-2)


def test_a_kind_that_shows_no_variance_takes_that_of_the_other() -> None:
    vary, alike = [3.0, -1.0, 4.0, 1.0, 5.0], [2.0, 2.0, 2.0]
    known = float(np.var(vary, ddof=1))
    pairs, singles = kinds([units("a", "b", vary, paired=True), units("a", "b", alike)])
    assert mean_margins(pairs, singles).error[0] == pytest.approx(1 / (5 / known + 3 / (2 * known)))
    pairs, singles = kinds([units("a", "b", alike, paired=True), units("a", "b", vary)])
    assert mean_margins(pairs, singles).error[0] == pytest.approx(1 / (3 / known + 5 / known))
