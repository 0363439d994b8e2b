"""Curves made short: nothing that matters is lost."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from api.routes.series import decimate

curves = st.lists(
    st.one_of(st.just(float("nan")), st.floats(allow_nan=False, allow_infinity=False, width=32)),
    max_size=400,
)


@given(curves, st.integers(4, 60))
def test_ends_lows_and_highs_stay_in_order(curve: list[float], count: int) -> None:
    values = np.array(curve)
    kept = decimate(values, count)
    assert len(kept) <= count or len(curve) <= count
    assert kept.tolist() == sorted(set(kept.tolist()) & set(range(len(curve))))
    if curve:
        assert (kept[0], kept[-1]) == (0, len(curve) - 1)
    if not np.isnan(values).all():
        assert (np.nanmin(values[kept]), np.nanmax(values[kept])) == (
            np.nanmin(values),
            np.nanmax(values),
        )


def test_short_curves_are_left_alone() -> None:
    assert decimate(np.array([1.0, np.nan, 3.0]), 4).tolist() == [0, 1, 2]
    assert decimate(np.array([]), 4).tolist() == []


def test_one_spike_among_a_hundred_thousand() -> None:
    values = np.zeros(100_000)
    values[77_777] = 9.0
    kept = decimate(values, 100)
    assert 77_777 in kept
    assert 50 <= len(kept) <= 100


def test_a_gap_is_seen() -> None:
    values = np.arange(1000.0)
    values[300:500] = np.nan
    assert np.isnan(values[decimate(values, 40)]).any()
