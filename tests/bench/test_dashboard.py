"""The measurement of the dashboard measures: each view and each interaction of a small
population, once. Its figures say nothing here.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hatch_build
from bench.browser import chromium
from bench.dashboard import over_budget, p95, run
from bench.dashboard_views import INTERACTIONS, views


@pytest.mark.slow
def test_every_view_and_interaction_has_its_figure(tmp_path: Path) -> None:
    if chromium() is None or not hatch_build.bundle_is_whole():
        pytest.skip(
            "no Chromium, or no dashboard built from web/ as it stands: python hatch_build.py"
        )
    # In a thread of its own: the loop of tests/web may run in this one.
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(run, tmp_path / "data", members=18, points=60, repeats=2).result()
    assert list(found["views"]) == [view.name for view in views(18)]
    assert list(found["interactions"]) == [interaction.name for interaction in INTERACTIONS]
    figures = [*found["views"].values(), *found["interactions"].values()]
    assert all(0 < one["median_ms"] <= one["p95_ms"] <= one["max_ms"] for one in figures)


def test_what_is_over_the_budget_is_named() -> None:
    assert p95([float(number) for number in range(1, 21)]) == 19.0
    assert p95([7.0]) == 7.0
    found = {
        "views": {"slow": {"p95_ms": 1000.5}, "quick": {"p95_ms": 1000.0}},
        "interactions": {"late": {"p95_ms": 250.0}},
    }
    assert over_budget(found) == ["slow: 1000 ms", "late: 250 ms"]
