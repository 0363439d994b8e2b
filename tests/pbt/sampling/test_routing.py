"""Every row reaches the learner of the policy that acted it, complete and in order: 100 000 rows of
games made up by Hypothesis.

Also where several workers share the slabs and answers come one by one.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pbt.sampling.made_up_bench import Bench


@pytest.mark.slow
def test_a_hundred_thousand_rows_arrive_where_they_belong() -> None:
    rows = 0

    @settings(max_examples=30, deadline=None)
    @given(
        seed=st.integers(0, 2**31),
        seat_roles=st.sampled_from([(0,), (0, 0), (0, 1), (0, 0, 1), (0, 1, 1, 0)]),
        tables=st.sampled_from([1, 3, 20, 60]),
        rollout_steps=st.integers(2, 12),
        raising=st.sampled_from([0.0, 0.0, 0.02]),
        shares=st.integers(1, 3),
        piecemeal=st.booleans(),
    )
    def play(
        seed: int,
        seat_roles: tuple[int, ...],
        tables: int,
        rollout_steps: int,
        raising: float,
        shares: int,
        piecemeal: bool,
    ) -> None:
        nonlocal rows
        bench = Bench(
            seed,
            seat_roles,
            tables,
            rollout_steps,
            raising,
            min(shares, tables),
            piecemeal=piecemeal,
        )
        for _ in range(6000 // (tables + 20)):
            bench.turn()
        assert bench.unaccounted() == 0
        assert bench.trained or tables < 20, "workers that stand still are woken by a batch"
        rows += bench.trained

    play()
    # The rest at many tables, where rows are cheap.
    bench = Bench(1, (0, 1, 1, 0), 200, 8, 0.001)
    while rows + bench.trained < 100_000:
        bench.turn()
    assert bench.unaccounted() == 0
