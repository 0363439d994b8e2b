"""Coverage of the first seat's advantage in simulated leagues: what is counted as what."""

import numpy as np
import pytest

from bench.seat_advantage import coverage, endless, measured, summary
from bench.simulated_leagues import Cell, cells

CELL = {cell.name: cell for cell in cells()}


def test_endless_games_give_the_level_or_what_lies_between_the_ends_of_the_rise() -> None:
    assert endless(CELL["300-0-dense"]) == pytest.approx(300, abs=0.1)
    assert endless(CELL["100-0.5-sparse"]) == pytest.approx(100, abs=0.1)
    assert 100 < endless(CELL["rising-0-sparse"]) < 200


def test_only_what_is_counted_covers() -> None:
    value, half, truth = np.zeros(4), np.array([1.0, 1.0, 3.0, 3.0]), np.full(4, 2.0)
    assert coverage(value, half, truth, np.array([True, False, True, False])) == 0.5
    assert coverage(value, half, truth, np.zeros(4, dtype=bool)) == 1.0


def test_a_cell_is_measured_and_repeats_itself() -> None:
    cell = Cell("", (0.0, 200.0, 400.0), ((0, 1), (1, 2), (0, 2)), 20, 4, seat=100.0)
    found = measured(cell, 3, 40)
    assert found == measured(cell, 3, 40)
    assert found["at_best"] > 0.8 and found["overall"] > 0.8
    assert found["at_best_width"] > found["overall_width"] > 0


def test_where_all_leagues_show_that_it_grows_there_is_no_level() -> None:
    cell = Cell("", (0.0, 300.0, 600.0), ((0, 1), (1, 2), (0, 2)), 2000, 0, slope=0.5)
    found = measured(cell, 3, 5)
    assert (found["slope_kept"], found["overall_width"]) == (1.0, 0.0)
    assert abs(found["at_best_bias"]) < 30


def test_extremes_leave_out_what_is_hardly_ever_printed() -> None:
    def found(at_best: float, overall: float, slope_kept: float) -> dict[str, float]:
        return {
            "at_best": at_best,
            "at_best_open": 1 - at_best,
            "overall": overall,
            "slope_kept": slope_kept,
            "without_the_doubt": at_best / 2,
        }

    assert summary({"a": found(0.95, 0.94, 0.1), "b": found(0.98, 0.2, 0.95)}) == {
        "at_best_least": 0.95,
        "at_best_greatest": 0.98,
        "at_best_most_open": pytest.approx(0.05),
        "overall_least": 0.94,
        "overall_greatest": 0.94,
        "without_the_doubt_least": 0.475,
    }
