"""The simulated matches stop where the test of a real match would."""

import numpy as np
import pytest
from numpy.typing import NDArray

from arena.stats.sprt import SequentialTest, Sprt, log_likelihood_ratio
from bench.sequential_stops import LAWS, one_case, pair_law, stopped


def test_a_run_stops_where_the_test_of_a_match_does() -> None:
    sprt, law = Sprt(0, 100), pair_law(60.0, 0.5)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        drawn: list[NDArray[np.float64]] = []

        def terms(
            number: int,
            rng: np.random.Generator = rng,
            drawn: list[NDArray[np.float64]] = drawn,
        ) -> NDArray[np.float64]:
            drawn.append(rng.multinomial(1, law, size=number).astype(np.float64))
            return drawn[-1]

        found = stopped(sprt, 1, terms, lambda sums: log_likelihood_ratio(sums, 0, 100))
        # The first unit is drawn only for its width.
        cells = np.concatenate(drawn[1:]).argmax(axis=1)
        test = SequentialTest(sprt, 2)
        test.look((cells / 2).tolist())
        assert test.state == ("accept H1" if found.h1[0] else "accept H0")
        assert (test.looked_at, test.sums.tolist()) == (found.pairs[0], found.sums[0].tolist())


@pytest.mark.parametrize("law", LAWS)
def test_a_case_reports_lengths_errors_and_coverage(law: str) -> None:
    found = one_case((0.0, 300.0), "elo0", law, 200, 5)
    assert found["accepted"] <= 0.1
    assert 4 <= found["games"]["median"] <= found["games"]["mean"] <= found["games"]["q95"] <= 60
    assert found["sequence"]["held"] >= 0.95
    assert found["sequence"]["width"] > found["ordinary"]["width"]
