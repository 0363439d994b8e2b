"""Simulated leagues: what is drawn, what is counted, and which floors are missed."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.rating_fit import fit_meetings
from bench.rating_batch_fits import Fits
from bench.rating_batches import Leagues
from bench.rating_coverage import (
    compared,
    difference,
    earlier,
    intervals,
    measured,
    missed,
    off,
    summary,
)
from bench.simulated_leagues import Cell, cells, chances, drawn, losses, together

PAIR = Cell("strong-pair", (0.0, 200.0), ((0, 1),), 30, 20, seat=100.0, ties=0.5)


def test_cells_stand_in_a_fixed_order_and_have_names_of_their_own() -> None:
    names = [cell.name for cell in cells()]
    assert len(set(names)) == len(names)
    assert names[0] == "0-0-dense"
    assert names[15] == "rising-0.5-sparse"
    assert sum(cell.dense for cell in cells()) == 8


def test_results_are_drawn_by_seat_strength_and_ties() -> None:
    """400 : seat 100 more when the stronger sits first; two equals tie by half."""
    first, second = chances(PAIR)[0]
    assert first[2] / first[0] == pytest.approx(10 ** ((200 - 100) / 400))
    assert second[2] / second[0] == pytest.approx(10 ** ((200 + 100) / 400))
    equals = Cell("", (0.0, 0.0), ((0, 1),), 1, 0, ties=0.5)
    assert chances(equals)[0, 0] == pytest.approx([0.25, 0.5, 0.25])
    grown = Cell("", (0.0, 200.0), ((0, 1),), 1, 0, slope=0.5)
    assert chances(grown)[0, 0, 2] / chances(grown)[0, 0, 0] == pytest.approx(10 ** (150 / 400))


@pytest.mark.parametrize("shared", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_shared_games_keep_the_chances_of_each(shared: float) -> None:
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.1, 0.3])
    joint = together(p, q, shared)
    assert joint.sum(1) == pytest.approx(p)
    assert joint.sum(0) == pytest.approx(q)
    outcome = np.array([1.0, 0.0, -1.0])
    correlated = outcome @ joint @ outcome - (outcome @ p) * (outcome @ q)
    assert np.sign(round(float(correlated), 12)) == np.sign(shared)


def test_a_league_has_the_games_of_its_cell() -> None:
    games = drawn(PAIR, np.random.default_rng(1))
    assert games.paired.sum() == 30
    assert games.single.sum() == 20
    assert losses(PAIR) == pytest.approx(40 * float(chances(PAIR)[0, :, 0].sum()))


def test_a_cell_is_measured_and_repeats_itself() -> None:
    once = measured(PAIR, 3, 30)
    assert once == measured(PAIR, 3, 30)
    assert once["apart_from_one_at_a_time"] < 0.01
    assert 0.8 < once["anchor"]["coverage"] <= 1
    assert once["anchor"]["coverage"] == pytest.approx(
        1 - once["anchor"]["interval_below_truth"] - once["anchor"]["interval_above_truth"]
    )
    assert off(PAIR, 1, [190.0, 220.0]) == {
        "truth": 200.0,
        "bias": 5.0,
        "deviation": pytest.approx(21.2132),
        "bias_in_errors": pytest.approx(5 / 21.2132),
    }


def test_floors() -> None:
    """Means and extremes of the cells, and one line for each floor that is missed."""

    def result(anchor: float, between: float = 0.95, apart: float = 0.01) -> dict[str, Any]:
        return {
            "anchor": {"coverage": anchor},
            "between": {"coverage": between},
            "apart_from_one_at_a_time": apart,
            "players": [{"bias_in_errors": -0.3}],
            "losses_of_best": 5.5,
        }

    assert summary({"0-0-dense": result(0.952), "0-0-sparse": result(0.97, 0.949)}) == {
        "dense_mean": pytest.approx(0.951),
        "dense_least": 0.95,
        "dense_greatest": 0.952,
        "least": 0.949,
        "strong_bias_in_errors": 0.0,
    }
    assert missed({"0-0-dense": result(0.95), "0-0-sparse": result(0.97)}) == []
    assert len(missed({"0-0-sparse": result(0.939)})) == 1
    assert len(missed({"0-0-dense": result(0.961)})) == 2
    assert len(missed({"0-0-dense": result(0.95, apart=0.2)})) == 1
    strong = result(0.95)
    assert len(missed({"strong-1000-0-ladder": strong})) == 1
    assert missed({"strong-1000-0-ladder": {**strong, "losses_of_best": 4.9}}) == []


def test_a_call_goes_on_from_its_file_and_refuses_another_plan(tmp_path: Path) -> None:
    path, plan = tmp_path / "coverage.json", {"leagues": 2000}
    assert earlier(path, plan) == {}
    path.write_text(json.dumps({"plan": plan, "cells": {"0-0-dense": {}}}))
    assert earlier(path, plan) == {"0-0-dense": {}}
    with pytest.raises(SystemExit, match="another plan"):
        earlier(path, {"leagues": 200})


def test_many_leagues_at_a_time_are_fitted_as_one_at_a_time() -> None:
    """With gamma1 and ties, and in leagues so small that some ends are open."""
    strength, met = (0.0, 200.0, 400.0, 600.0), ((0, 1), (1, 2), (2, 3), (0, 2))
    for pairs, slope, ties in ((60, 0.5, 0.3), (2, 0.0, 0.0)):
        cell = Cell("", strength, met, pairs, 2, seat=50.0, slope=slope, ties=ties)
        games = [drawn(cell, np.random.default_rng(seed)) for seed in range(8)]
        fits = Fits(Leagues.of(games, 4))
        wanted = compared(cell)
        found, is_open = intervals(fits, wanted)
        assert (fits.slope != 0).any() == (slope > 0)
        (best, value, half), (level, level_half) = fits.seat_at_best(), fits.level_seat()
        for at, league in enumerate(games):
            assert difference(league, wanted, found[:, :, at]) < 0.01
            fit = fit_meetings(range(4), league, 0)
            assert fit is not None
            assert best[at] == np.argmax(fit.elo)
            assert fit.seat is not None
            for worth, middle, part in (
                (fit.seat.at_best, value[at], half[at]),
                (fit.seat.overall, level[at], level_half[at]),
            ):
                assert (worth is None) == math.isnan(middle)
                if worth is not None:
                    ends = np.array([middle, middle - part, middle + part]) * ELO_PER_NAT
                    assert worth == pytest.approx(ends, abs=0.01)
            rows = [fit.difference(*pair) for pair in wanted]
            assert [row.low is None for row in rows] == is_open[0, :, at].tolist()
            assert [row.high is None for row in rows] == is_open[1, :, at].tolist()
        assert is_open.any() == (pairs == 2)
