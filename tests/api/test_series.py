"""Curves made short: nothing that matters is lost."""

from hypothesis import given
from hypothesis import strategies as st

from api.series import decimate

values = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False, width=32))
curves = st.lists(values, max_size=400).map(lambda found: [(10 * place, value) for place, value in enumerate(found)])


@given(curves, st.integers(4, 60))
def test_ends_lows_and_highs_stay_in_order(points: list[tuple[int, float | None]], count: int) -> None:
    kept = decimate(points, count)
    assert len(kept) <= max(count, 0) or len(points) <= count
    assert kept == sorted(kept, key=lambda point: point[0])
    assert set(kept) <= set(points)
    if points:
        assert (kept[0], kept[-1]) == (points[0], points[-1])
    known = [value for _, value in points if value is not None]
    if known:
        shown = [value for _, value in kept if value is not None]
        assert (min(shown), max(shown)) == (min(known), max(known))


def test_short_curves_are_left_alone() -> None:
    points = [(0, 1.0), (1, None), (2, 3.0)]
    assert decimate(points, 4) == points
    assert decimate([], 4) == []


def test_one_spike_among_a_hundred_thousand() -> None:
    points: list[tuple[int, float | None]] = [(frames, 0.0) for frames in range(100_000)]
    points[77_777] = (77_777, 9.0)
    kept = decimate(points, 100)
    assert (77_777, 9.0) in kept
    assert 50 <= len(kept) <= 100
