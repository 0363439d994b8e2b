"""Estimates and intervals of every kind of rating against posteriors that are written out here.

A posterior's mean and its quantiles of 2.5 and 97.5 % come from random-walk Metropolis, or where
all but one unknown are normal from a sum. None of the program's formulas is used for them.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.margin_ratings import fit_margins
from arena.stats.meetings import Meetings
from arena.stats.plackett_luce import fit_rankings
from bench.simulated_leagues import Cell, drawn
from tests.arena.stats.margin_leagues import design, shrunk, some_league
from tests.arena.stats.test_plackett_luce import NAMES, simulated
from tests.arena.stats.test_rating_fit import LADDER, fitted

Floats = NDArray[np.float64]
CHAINS, TURNS, TUNED, SETTLED, KEPT_EVERY = 400, 700, 200, 300, 4


def draws(height: Callable[[Floats], Floats], unknowns: int, rng: np.random.Generator) -> Floats:
    """[draws, unknowns] of many chains of random-walk Metropolis.

    height  [chains, unknowns] -> [chains] logarithm of the density, up to a constant
    """
    at = rng.normal(0, 0.1, (CHAINS, unknowns))
    now, kept, step = height(at), [], np.full(unknowns, 0.12)
    for turn in range(TURNS):
        tried = at + step * rng.normal(size=at.shape)
        there = height(tried)
        taken = np.log(rng.random(len(at))) < there - now
        at, now = np.where(taken[:, None], tried, at), np.where(taken, there, now)
        if turn < TUNED and turn % 10 == 0:
            step = 1.1 * at.std(axis=0) + 1e-3
        if turn >= SETTLED and turn % KEPT_EVERY == 0:
            kept.append(at.copy())
    return np.concatenate(kept)


def test_bradley_terry_with_seats_and_ties_is_that_of_a_posterior() -> None:
    """Random-walk Metropolis under Jeffreys' prior, written without the module's formulas.

    The mode is held against the mean, and the profile against quantiles; they differ by the skew of
    the posterior, which is a few hundredths of its width here.
    """
    cell = Cell("", LADDER.strength, LADDER.met, 60, 30, seat=80.0, ties=0.25)
    games = drawn(cell, np.random.default_rng(6))
    fit = fitted(4, games)
    drawn_at = seated_draws(games, np.random.default_rng(7))
    assert fit.seat is not None
    assert fit.tie is not None
    errors = drawn_at.std(axis=0)
    log_nu = math.log(fit.tie) * ELO_PER_NAT
    mode = np.array([*fit.elo[1:], fit.seat.at(0.0), log_nu])
    assert np.max(np.abs(mode - drawn_at.mean(axis=0)) / errors) < 0.1
    for row, samples, error in zip(fit.differences(0)[1:], drawn_at.T, errors, strict=False):
        ratio = fit.fitted.dispersion(row.player, 0).ratio
        low, high = np.quantile(samples, [0.025, 0.975])
        assert row.low is not None
        assert row.high is not None
        # The sandwich scales the interval by the root of its ratio.
        scale = math.sqrt(ratio)
        assert row.elo + (row.low - row.elo) / scale == pytest.approx(low, abs=0.15 * error)
        assert row.elo + (row.high - row.elo) / scale == pytest.approx(high, abs=0.15 * error)


def seated_draws(games: Meetings, rng: np.random.Generator) -> Floats:
    """[draws, 5] theta_1, theta_2, theta_3, gamma and log nu, in Elo, of 400 chains."""
    seats, won = [], []
    for i, j, paired, single in zip(
        games.first, games.second, games.paired, games.single, strict=True
    ):
        seats += [(i, j), (j, i)]
        won += [paired.sum(1) + single[0], (paired.sum(0) + single[1])[::-1]]
    first = np.eye(4)[[i for i, _ in seats]] - np.eye(4)[[j for _, j in seats]]
    by_d = np.hstack([first[:, 1:], np.ones((len(seats), 1)), np.zeros((len(seats), 1))])
    counts = np.array(won)

    def height(beta: Floats) -> Floats:
        d, tie = beta @ by_d.T, np.exp(beta[:, 4:])
        weights = np.stack([np.exp(d / 2), np.broadcast_to(tie, d.shape), np.exp(-d / 2)], axis=-1)
        p = weights / weights.sum(axis=-1, keepdims=True)
        slopes = np.zeros((*p.shape, 5))
        slopes += np.array([0.5, 0, -0.5])[:, None] * by_d[:, None]
        slopes[:, :, 1, 4] += 1
        slopes -= np.einsum("kco,kcob->kcb", p, slopes)[:, :, None]
        share = np.einsum("kco,c,kcoa,kcob->kab", p, counts.sum(1), slopes, slopes, optimize=True)
        plain = np.einsum("co,kco->k", counts, np.log(p))
        return np.asarray(plain + np.linalg.slogdet(share)[1] / 2)

    return draws(height, 5, rng) * ELO_PER_NAT


@pytest.mark.parametrize("games_of_two", [10, 60, 240])
def test_bradley_terry_alone_nears_that_of_a_posterior(games_of_two: int) -> None:
    """A mode is nearer to 0 than a mean of a skewed posterior, less so the more games there are.

    Measured by the posterior's deviation, they differ by about one over the root of the games. The
    rest of the tolerance is for the chance of the draws.
    """
    near = 0.05 + 1 / math.sqrt(games_of_two)
    games = drawn(Cell("", LADDER.strength, LADDER.met, 0, games_of_two), np.random.default_rng(3))
    fit = fitted(4, games, seated=False)
    pairs = np.eye(4)[games.first] - np.eye(4)[games.second]
    won = games.single[:, 0, 0] + games.single[:, 1, 0]
    played = games.single.sum(axis=(1, 2))

    def height(theta: Floats) -> Floats:
        p = 1 / (1 + np.exp(-theta @ pairs[:, 1:].T))
        plain = np.log(p) @ won + np.log1p(-p) @ (played - won)
        share = np.einsum("kg,ga,gb->kab", played * p * (1 - p), pairs[:, 1:], pairs[:, 1:])
        return np.asarray(plain + np.linalg.slogdet(share)[1] / 2)

    drawn_at = draws(height, 3, np.random.default_rng(8)) * ELO_PER_NAT
    for row, samples in zip(fit.differences(0)[1:], drawn_at.T, strict=True):
        error = samples.std()
        assert row.elo == pytest.approx(samples.mean(), abs=near * error)
        scale = math.sqrt(fit.fitted.dispersion(row.player, 0).ratio)
        for end, quantile in ((row.low, 0.025), (row.high, 0.975)):
            assert end is not None
            plain = row.elo + (end - row.elo) / scale
            assert plain == pytest.approx(np.quantile(samples, quantile), abs=near * error)


def test_plackett_luce_is_that_of_a_posterior() -> None:
    """Metropolis under the virtual draws as prior; the mode against the mean, and so on.

    Each pair's share of the virtual draws is written out from the number of common games.
    """
    truth = np.array([0.0, 80.0, 160.0, 240.0])
    rankings = simulated(np.random.default_rng(3), 120, 3, truth)
    order = np.array(
        [
            [NAMES.index(player) for _, player in sorted(zip(one.places, one.players, strict=True))]
            for one in rankings
        ]
    )
    common = np.zeros((4, 4))
    for seats in order:
        common[np.ix_(seats, seats)] += 1 - np.eye(3)
    share = common / common.sum(axis=1, keepdims=True)
    prior = (share + share.T) / 4

    def height(theta: Floats) -> Floats:
        strength = np.hstack([np.zeros((len(theta), 1)), theta])
        seated = strength[:, order]
        plain = sum(
            (seated[..., k] - np.log(np.exp(seated[..., k:]).sum(axis=-1))).sum(axis=1)
            for k in range(2)
        )
        ahead = strength[:, :, None] - strength[:, None, :]
        return np.asarray(plain - (prior * np.log1p(np.exp(-ahead))).sum(axis=(1, 2)))

    drawn_at = draws(height, 3, np.random.default_rng(4)) * ELO_PER_NAT
    found = {rating.player: rating for rating in fit_rankings(rankings, "random")}
    for name, samples in zip(NAMES[1:], drawn_at.T, strict=False):
        rated, error = found[name], samples.std()
        assert rated.elo == pytest.approx(samples.mean(), abs=0.1 * error)
        assert (rated.low, rated.high) == pytest.approx(
            np.quantile(samples, [0.025, 0.975]), abs=0.15 * error
        )


def quantile(part: float, share: Floats, centres: Floats, errors: Floats) -> float:
    """Of a mixture of normal distributions, which lies within 50 of its largest errors."""
    far = 50 * errors.max()
    return float(
        brentq(
            lambda at: float(share @ norm.cdf((at - centres) / errors)) - part,
            centres.min() - far,
            centres.max() + far,
        )
    )


@pytest.mark.parametrize("seed", range(3))
def test_margins_are_those_of_a_posterior(seed: int) -> None:
    """Flat priors, and an exact sum over tau, given which strengths are normal.

    Eight players: 28 pairs tell what tau is. The interval is up to 4 % narrower than the
    posterior's, which also gives weight to a tau far above the estimate.
    """
    results = some_league(seed, players=8, number=12)
    found = {one.player: one for one in fit_margins(results, "p0").ratings}
    players, x, mean, number = design(results)
    x, noise, taus = x[:, 1:], shrunk(results)[0] / number, np.linspace(0.002, 4.0, 800)
    heights, means, errors = [], [], []
    for tau in taus:
        weight = 1 / (noise + tau**2)
        information = x.T @ (x * weight[:, None])
        covariance = np.linalg.inv(information)
        theta = covariance @ x.T @ (weight * mean)
        heights.append(
            np.log(weight).sum()
            - np.linalg.slogdet(information)[1]
            - weight @ (mean - x @ theta) ** 2
        )
        means.append(theta)
        errors.append(np.sqrt(np.diag(covariance)))
    share = np.exp((np.array(heights) - max(heights)) / 2)
    share /= share.sum()
    for player, centre, error in zip(
        players[1:], np.array(means).T, np.array(errors).T, strict=True
    ):
        rating, middle = found[player], float(share @ centre)
        deviation = math.sqrt(share @ (error**2 + centre**2) - middle**2)
        low, high = (quantile(part, share, centre, error) for part in (0.025, 0.975))
        assert rating.value is not None and rating.low is not None and rating.high is not None
        assert rating.value == pytest.approx(middle, abs=0.01 * deviation)
        assert 0.96 < (rating.high - rating.low) / (high - low) < 1.0
        assert (rating.high + rating.low) / 2 == pytest.approx(
            (high + low) / 2, abs=0.05 * deviation
        )
