"""The model with ties and seats against the same model written out game by game."""

import math

import numpy as np
import pytest

from arena.stats.chances import Chances
from arena.stats.davidson import Likelihood
from arena.stats.design import Layout
from arena.stats.dispersion import Sandwich
from arena.stats.meetings import Meetings, seated_cells
from arena.stats.newton import maximum
from arena.stats.profile import line_end, profile_end
from bench.simulated_leagues import Cell, drawn
from tests.arena.stats import slow_davidson as slow

LAYOUTS = [
    Layout(4, 0),
    Layout(4, 2, seat=True),
    Layout(4, 1, seat=True, ties=True),
    Layout(4, 0, ties=True),
    Layout(4, 0, seat=True, slope=True),
    Layout(4, 3, seat=True, slope=True, ties=True),
]


def case(layout: Layout, seed: int) -> tuple[Meetings, Likelihood, np.random.Generator]:
    rng = np.random.default_rng(seed)
    if layout.slope:
        met = ((0, 1), (0, 2), (1, 2), (2, 3), (1, 3))
        ties = 0.3 if layout.ties else 0.0
        rungs = (0.0, 200.0, 400.0, 600.0)
        meetings = drawn(Cell("", rungs, met, 10, 5, seat=50.0, slope=0.5, ties=ties), rng)
    else:
        meetings = slow.random_meetings(rng, layout.players, layout.ties)
    return meetings, Likelihood(seated_cells(meetings, layout.players), layout), rng


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_value_information_and_gradient_are_those_written_out(layout: Layout, seed: int) -> None:
    meetings, likelihood, rng = case(layout, seed)
    values = rng.normal(0, 0.7, len(layout.free))
    point = likelihood.at(values)
    assert point.value == pytest.approx(slow.penalised(point.beta, layout, meetings), rel=1e-9)
    square = np.ix_(layout.free, layout.free)
    expected = slow.information(point.beta, layout, meetings)[square]
    assert point.information == pytest.approx(expected, rel=1e-7, abs=1e-7)
    for place in range(len(values)):
        step = np.zeros(len(values))
        step[place] = 1e-5
        slope = (likelihood.at(values + step).value - likelihood.at(values - step).value) / 2e-5
        assert point.gradient[place] == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_maximum_is_the_one_that_a_plain_search_finds(layout: Layout) -> None:
    meetings, likelihood, rng = case(layout, 7)
    start = np.zeros(layout.size)
    if layout.slope:
        # Among equals gamma1 changes nothing, so no fit begins there.
        start[: layout.players] = 0.1 * np.arange(layout.players)
    best = maximum(likelihood.at, start[layout.free], needed="")
    near = best.values + rng.normal(0, 0.02, len(best.values))
    found = slow.most_likely(layout, meetings, near)
    assert best.beta == pytest.approx(found, abs=1e-6)


def test_profile_ends_are_where_the_best_of_the_others_is_near_enough() -> None:
    """At the end, no other parameters make the likelihood larger, and it is `drop` below."""
    layout = Layout(4, 0, seat=True, ties=True)
    _, likelihood, _ = case(layout, 11)
    best = maximum(likelihood.at, np.zeros(len(layout.free)), needed="")
    contrast = np.zeros(layout.size)
    contrast[[2, 1]] = 1.0, -1.0
    for side in (-1, 1):
        end = profile_end(likelihood, best, contrast, 1.92, side)

        # Without the first free parameter (theta_1), theta_2 is bound to it by the difference.
        def bound(rest: slow.Vector, end: float = end) -> slow.Vector:
            beta = np.zeros(layout.size)
            beta[[1, 3, 4, 5]] = rest
            beta[2] = beta[1] + end
            return beta[layout.free]

        inner = likelihood.at(bound(best.beta[[1, 3, 4, 5]]))
        rest = best.beta[[1, 3, 4, 5]]
        for _ in range(200):
            inner = likelihood.at(bound(rest))
            # Chain rule: theta_1 moves theta_2 with it.
            to = np.zeros((5, 4))
            to[[0, 1], 0], to[2, 1], to[3, 2], to[4, 3] = 1.0, 1.0, 1.0, 1.0
            rest = rest + np.linalg.solve(to.T @ inner.curvature @ to, to.T @ inner.gradient)
        assert inner.value == pytest.approx(best.value - 1.92, abs=1e-5)
        assert side * (end - float(contrast @ best.beta)) > 0


def test_along_a_line_the_ends_are_close_to_those_of_the_profile() -> None:
    layout = Layout(6, 0, seat=True, ties=True)
    _, likelihood, _ = case(layout, 5)
    best = maximum(likelihood.at, np.zeros(len(layout.free)), needed="")
    for player in range(1, 6):
        contrast = np.zeros(layout.size)
        contrast[[player, 0]] = 1.0, -1.0
        error = math.sqrt(float(contrast @ best.covariance @ contrast))
        for side in (-1, 1):
            ends = [end(likelihood, best, contrast, 1.92, side) for end in (line_end, profile_end)]
            assert abs(ends[0] - ends[1]) < 0.05 * error


def test_the_sandwich_is_that_of_every_cluster_on_its_own() -> None:
    """Observed and expected sums of squares, and their variance, cluster by cluster."""
    layout = Layout(4, 0, seat=True, ties=True)
    meetings, likelihood, rng = case(layout, 13)
    best = maximum(likelihood.at, np.zeros(len(layout.free)), needed="")
    contrast = np.append(0.0, rng.normal(size=layout.size - 1))
    weights = best.covariance @ contrast
    found = expected = spread = 0.0
    for cluster in slow.games(meetings):
        parts, share = [], np.zeros((layout.size, layout.size))
        for first, second, outcome in cluster:
            chance = slow.log_chances(best.beta, layout, first, second)
            score = slow.scores(best.beta, layout, first, second)
            parts.append((chance, score, outcome))
            share += slow.of_one_game(chance, score)
        found += float(sum(weights @ score[outcome] for _, score, outcome in parts)) ** 2
        # All outcomes of the cluster and their chances.
        every = [(0.0, 1.0)]
        for chance, score, _ in parts:
            every = [
                (total + float(weights @ score[o]), p * math.exp(chance[o]))
                for total, p in every
                for o in chance
            ]
        second_moment = sum(p * total**2 for total, p in every)
        spread += sum(p * total**4 for total, p in every) - second_moment**2
        expected += second_moment - float(weights @ share @ best.covariance @ share @ weights)
    measured = Sandwich(best).unmoderated(contrast)
    assert measured.ratio == pytest.approx(found / expected, rel=1e-6)
    assert measured.freedom == pytest.approx(2 * expected**2 / spread, rel=1e-6)


def test_seed_pairs_that_repeat_themselves_are_half_the_evidence() -> None:
    """Both games of a seed pair end alike for one player: the variance is twice the model's."""
    layout = Layout(2, 0, seat=True)
    paired = np.zeros((1, 3, 3))
    paired[0, 0, 0], paired[0, 2, 2] = 300, 300
    first, second = np.array([0]), np.array([1])
    cells = seated_cells(Meetings(first, second, paired, np.zeros((1, 2, 3))), 2)
    best = maximum(Likelihood(cells, layout).at, np.zeros(2), needed="")
    assert Sandwich(best).of_strengths(np.array([-1.0, 1.0, 0.0])).ratio == pytest.approx(
        2, abs=0.1
    )
    assert Sandwich(best).of_seats(np.array([0.0, 0.0, 1.0])).ratio < 0.1


def test_chances_keep_their_precision_where_an_outcome_is_almost_certain() -> None:
    chances = Chances.of(np.array([60.0]), -math.inf)
    assert chances.variance[0][0] == pytest.approx(math.exp(-60), rel=1e-12)
