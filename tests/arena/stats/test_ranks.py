"""Ranks with ties, against scipy's."""

import numpy as np
import pytest
from scipy.stats import rankdata

from arena.stats.ranks import mid_ranks, rank_span


@pytest.mark.parametrize("different", [1, 2, 5, 1000])
def test_they_are_scipys(different: int) -> None:
    rng = np.random.default_rng(different)
    for size in range(40):
        values = rng.integers(different, size=size) / 3
        best, worst = rank_span(values)
        assert np.array_equal(best, rankdata(values, "min"))
        assert np.array_equal(worst, rankdata(values, "max"))
        assert np.array_equal(mid_ranks(values.tolist()), rankdata(values))
