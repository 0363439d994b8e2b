"""Ratings by margin against dense matrices, and at their edges."""

import math

import numpy as np
import pytest
from scipy.stats import chi2, t

from arena.stats.margin_ratings import fit_margins
from arena.stats.margin_units import MarginResult
from arena.stats.margin_variance import misfit_variance, restricted_likelihood
from tests.arena.stats.margin_leagues import Floats, design, met_of, of, shrunk, some_league, units


@pytest.mark.parametrize("seed", range(20))
def test_the_fit_is_that_of_dense_matrices(seed: int) -> None:
    results = some_league(seed, tau=0.4 * (seed % 3))
    players, x, mean, number = design(results)
    variances, pooled, weight = shrunk(results)
    found = fit_margins(results, "p2")
    assert found.deviations == (None, pytest.approx(math.sqrt(pooled), rel=1e-9))
    assert met_of(results).margins.kinds[1].weight == pytest.approx(weight, rel=1e-9)
    w = np.diag(1 / (found.tau**2 + variances / number))
    inverse = np.linalg.pinv(x.T @ w @ x)
    theta = inverse @ x.T @ w @ mean
    order = [players.index(one) for one in found.players]
    own = players.index("p2")
    assert found.values == pytest.approx((theta - theta[own])[order], abs=1e-9)
    for a in players:
        for b in players:
            i, j = players.index(a), players.index(b)
            error = math.sqrt(max(0.0, inverse[i, i] + inverse[j, j] - 2 * inverse[i, j]))
            at, to = found.players.index(a), found.players.index(b)
            own_error = found.covariance[at, at] + found.covariance[to, to]
            own_error -= 2 * found.covariance[at, to]
            assert math.sqrt(max(0.0, own_error)) == pytest.approx(error, abs=1e-9)
    at_zero = np.diag(number / variances)
    fit = x @ np.linalg.pinv(x.T @ at_zero @ x) @ x.T @ at_zero @ mean
    q = float((mean - fit) @ at_zero @ (mean - fit))
    assert found.misfit is not None
    assert found.misfit.q == pytest.approx(q, rel=1e-9)
    assert found.misfit.freedom == 10
    assert found.misfit.p == pytest.approx(chi2.sf(q, 10))
    fitted = x @ theta
    signal = float(np.mean(fitted**2 - np.diag(x @ inverse @ x.T)))
    assert found.explained == pytest.approx(signal / (signal + found.tau**2), rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_tau_has_the_greatest_likelihood_of_the_contrasts(seed: int) -> None:
    """REML is the likelihood of any basis of the contrasts that the strengths do not move."""
    results = some_league(seed, players=5, tau=0.5)
    _, x, mean, number = design(results)
    variances = shrunk(results)[0] / number
    basis = np.linalg.svd(x)[0][:, np.linalg.matrix_rank(x) :]

    def likelihood(tau: float) -> float:
        v = basis.T @ np.diag(variances + tau**2) @ basis
        y = basis.T @ mean
        return -0.5 * float(np.linalg.slogdet(v)[1] + y @ np.linalg.solve(v, y))

    met = met_of(results)
    differences = [
        likelihood(tau) - restricted_likelihood(met, variances + tau**2)
        for tau in (0.0, 0.3, 1.0, 4.0)
    ]
    assert differences == pytest.approx([differences[0]] * 4, abs=1e-9)
    found = math.sqrt(misfit_variance(met))
    grid = np.linspace(0, 3, 3001)
    best = float(grid[np.argmax([likelihood(one) for one in grid])])
    assert found == pytest.approx(best, abs=2e-3)


def test_degrees_of_freedom_are_satterthwaites() -> None:
    """The variance of a difference is moved by hand: tau^2 and the pooled variance, a little."""
    results = some_league(5, tau=0.8)
    players, x, mean, number = design(results)
    found = fit_margins(results, "p0")
    variances = shrunk(results)[0]
    assert found.tau > 0
    at = [players.index(one) for one in ("p4", "p0")]

    def parts(tau2: float, scale: float) -> tuple[float, Floats]:
        w = np.diag(1 / (tau2 + scale * variances / number))
        inverse = np.linalg.pinv(x.T @ w @ x)
        own = np.zeros(len(players))
        own[at] = 1, -1
        return float(own @ inverse @ own), w - w @ x @ inverse @ x.T @ w

    variance, p = parts(found.tau**2, 1.0)
    step = 1e-5
    by_tau = (parts(found.tau**2 + step, 1.0)[0] - parts(found.tau**2 - step, 1.0)[0]) / (2 * step)
    by_pooled = (parts(found.tau**2, 1 + step)[0] - parts(found.tau**2, 1 - step)[0]) / (2 * step)
    doubt = by_tau**2 * 2 / np.trace(p @ p) + by_pooled**2 * 2 / (number - 1).sum()
    one = of(found, "p4")
    assert one.value is not None and one.high is not None
    freedom = 2 * variance**2 / doubt
    assert one.high - one.value == pytest.approx(
        t.ppf(0.975, freedom) * math.sqrt(variance), rel=1e-6
    )
    assert mean.shape == number.shape


def test_the_order_of_results_and_of_names_changes_nothing() -> None:
    results = some_league(3)
    turned = [
        MarginResult(one.b, one.a, one.units, -one.total, one.squares) for one in results[::-1]
    ]
    halves, rest = (
        [
            MarginResult(one.a, one.b, n, one.total * n / one.units, one.squares * n / one.units)
            for one in results
            for n in (2 if first else one.units - 2,)
        ]
        for first in (True, False)
    )
    found = fit_margins(results, "p0")
    for other in (turned, halves + rest, rest + halves):
        again = fit_margins(other, "p0")
        for one in found.ratings:
            assert of(again, one.player).value == pytest.approx(one.value, abs=1e-6)
            assert of(again, one.player).high == pytest.approx(one.high, abs=1e-6)


def test_only_players_that_games_connect_to_the_anchor_are_rated() -> None:
    results = [
        units("a", "random", [3.0, 5.0, 4.0]),
        units("b", "a", [1.0, 2.0, 0.0]),
        units("x", "y", [9.0, 7.0]),
    ]
    found = fit_margins(results, "random")
    assert [one.player for one in found.ratings[:3]] == ["b", "a", "random"]
    assert [one.value for one in found.ratings[:3]] == pytest.approx([5.0, 4.0, 0.0])
    assert [(one.player, one.value, one.low, one.units) for one in found.ratings[3:]] == [
        ("x", None, None, 2),
        ("y", None, None, 2),
    ]
    assert (of(found, "random").low, of(found, "random").high) == (0.0, 0.0)
    # A tree of players leaves nothing to test.
    assert (found.misfit, found.tau, found.explained, found.ranked_by) == (
        None,
        0.0,
        None,
        "rating",
    )
    centred = fit_margins(results[:2], None)
    assert sum(one.value or 0.0 for one in centred.ratings) == pytest.approx(0.0, abs=1e-12)
    assert fit_margins(results, "nobody_met").players == ()
    assert all(one.value is None for one in fit_margins(results, "nobody_met").ratings)
    assert fit_margins([], None).ratings == ()


def test_two_players_have_the_t_interval_of_their_mean() -> None:
    margins = [3.0, -1.0, 4.0, 1.0, 5.0]
    one = of(fit_margins([units("a", "random", margins)], "random"), "a")
    half = t.ppf(0.975, 4) * np.std(margins, ddof=1) / math.sqrt(5)
    assert (one.value, one.low, one.high) == pytest.approx((2.4, 2.4 - half, 2.4 + half))


def test_margins_that_never_vary_have_no_interval() -> None:
    found = fit_margins([units("a", "random", [2.0] * 5), units("b", "a", [1.0] * 3)], "random")
    assert [one.player for one in found.ratings] == ["b", "a", "random"]
    assert [one.value for one in found.ratings] == pytest.approx([3.0, 2.0, 0.0])
    assert all(one.low is None and one.high is None for one in found.ratings)
    assert (found.deviations, found.misfit) == ((None, 0.0), None)


def test_exact_margins_that_contradict_each_other_show_how_much_by() -> None:
    """Rock, paper, scissors without noise: the misfit is all there is."""
    found = fit_margins(
        [
            units("r", "s", [1.0] * 4),
            units("s", "p", [1.0] * 4),
            units("p", "r", [1.0] * 4),
            units("r", "random", [0.0] * 4),
        ],
        "random",
    )
    assert found.tau == pytest.approx(math.sqrt(3.0))
    assert (found.explained, found.ranked_by) == (0.0, "panel")
    assert all(one.low is not None for one in found.ratings)
