"""The ratings of `arena.stats.rating_fit` for many leagues of the same meetings at once.

Arrays begin with the league, as in `bench.rating_batches`. All values are natural logarithms.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from arena.stats.dispersion import PRIOR_FREEDOM
from arena.stats.seat_advantage import STEEPEST
from bench.rating_batches import Array, Evaluated, Leagues, evaluated, most_likely

_STEPS = 200


class Fits:
    """The fits of all leagues, and intervals of differences of players.

    beta    [L, k] parameters
    slope   [L] gamma1, 0 where the interval of gamma1 holds 0
    sloped  (parameters, gamma1) with gamma1 in all models
    fits    [L] whether gamma1 can be fitted
    """

    def __init__(self, games: Leagues) -> None:
        self.games = games
        leagues = len(games.counts)
        self.beta, self.slope = most_likely(
            games, np.zeros((leagues, games.size)), np.zeros(leagues)
        )
        self.sloped = self.beta.copy(), self.slope.copy()
        self.fits = np.zeros(leagues, dtype=bool)
        self._add_slopes()

    def _add_slopes(self) -> None:
        """Fit gamma1, and put it into the models of those leagues where its interval excludes 0."""
        start = evaluated(self.games, self.beta, self.slope, sloped=True).information
        cross = start[:, :-1, -1:]
        evidence = start[:, -1, -1] - np.sum(
            cross * np.linalg.solve(start[:, :-1, :-1], cross), axis=(1, 2)
        )
        told = np.flatnonzero(1.96 / np.sqrt(np.maximum(evidence, 1e-12)) <= STEEPEST)
        if not len(told):
            return
        games = self.games.chosen(told)
        beta, slope = most_likely(games, self.beta[told], self.slope[told], sloped=True)
        fit = evaluated(games, beta, slope, sloped=True)
        contrast = np.zeros((1, games.size + 1))
        contrast[0, -1] = 1.0
        ratio, freedom = dispersion(games, fit, contrast, seats=True)
        variance = np.linalg.inv(fit.information)[:, -1, -1]
        half = stdtrit(freedom[:, 0], 0.975) * np.sqrt(ratio[:, 0] * variance)
        off = np.linalg.solve(fit.curvature, fit.gradient[..., None])[..., 0]
        settled = np.abs(off).max(axis=1) < 1e-4
        self.fits[told] = settled & (np.abs(slope) < STEEPEST)
        self.sloped[0][told], self.sloped[1][told] = beta, slope
        kept = self.fits[told] & (np.abs(slope) > half)
        self.beta[told[kept]], self.slope[told[kept]] = beta[kept], slope[kept]

    def seat_at_best(self) -> tuple[NDArray[np.intp], Array, Array]:
        """([L] the best player, [L] the first seat's advantage at its strength, [L] half of its
        interval), as `arena.stats.seat_advantage.worth_at` of the models with gamma1.

        It is nan where gamma1 cannot be fitted.
        """
        place, leagues = self.games.cells.players - 1, len(self.beta)
        best = np.pad(self.beta[:, :place], ((0, 0), (1, 0))).argmax(axis=1)
        (beta, slope), every = self.sloped, np.arange(leagues)
        strength = np.pad(beta[:, :place], ((0, 0), (1, 0)))[every, best]
        contrast = np.zeros((leagues, 1, self.games.size + 1))
        contrast[:, 0, place], contrast[:, 0, -1] = 1.0, strength
        above = best > 0
        contrast[every[above], 0, best[above] - 1] = slope[above]
        value = np.where(self.fits, beta[:, place] + slope * strength, np.nan)
        half = seat_half_widths(
            self.games, evaluated(self.games, beta, slope, sloped=True), contrast
        )
        return best, value, half

    def level_seat(self) -> tuple[Array, Array]:
        """([L] gamma0, [L] half of its interval) of the models without gamma1, nan with it."""
        kept = self.slope == 0
        value, half = np.full((2, len(kept)), np.nan)
        if not kept.any():
            return value, half
        games, beta, slope = self.games.chosen(kept), self.beta[kept], self.slope[kept]
        contrast = np.zeros((1, games.size))
        contrast[0, games.cells.players - 1] = 1.0
        value[kept] = beta[:, games.cells.players - 1]
        half[kept] = seat_half_widths(games, evaluated(games, beta, slope), contrast)
        return value, half

    def _kinds(self) -> list[NDArray[np.bool_]]:
        """[L] the leagues without gamma1, and those with it."""
        return [kept for kept in (self.slope == 0, self.slope != 0) if kept.any()]

    def _of(self, kept: NDArray[np.bool_]) -> Evaluated:
        """The fit of leagues that all have gamma1, or all have none."""
        games, beta, slope = self.games.chosen(kept), self.beta[kept], self.slope[kept]
        return evaluated(games, beta, slope, sloped=bool(slope.any()))

    def intervals(self, wanted: Sequence[tuple[int, int]]) -> Array:
        """[3, wanted, L] low, difference and high of every (player, reference)."""
        found = np.empty((3, len(wanted), len(self.beta)))
        contrasts = np.zeros((len(wanted), self.games.size + 1))
        for row, (player, reference) in zip(contrasts, wanted, strict=True):
            row[player - 1] = 1.0
            if reference:
                row[reference - 1] = -1.0
        for kept in self._kinds():
            fit, games = self._of(kept), self.games.chosen(kept)
            beta, slope = self.beta[kept], self.slope[kept]
            own = contrasts[:, : fit.information.shape[1]]
            ratio, freedom = dispersion(games, fit, own, seats=False)
            held = evaluated(games, beta, slope)
            short = contrasts[:, :-1]
            drop = ratio * stdtrit(freedom, 0.975) ** 2 / 2
            drop *= variances(fit.information, own) / variances(held.information, short)
            found[1][:, kept] = short @ beta.T
            for at, contrast in enumerate(short):
                for row, side in ((0, -1.0), (2, 1.0)):
                    found[row, at, kept] = profile_ends(
                        games, beta, slope, held, contrast, drop[:, at], side
                    )
        return found


def seat_half_widths(games: Leagues, fit: Evaluated, contrasts: Array) -> Array:
    """[L] half the interval of one combination; contrasts [1, k] or [L, 1, k]."""
    ratio, freedom = dispersion(games, fit, contrasts, seats=True)
    variance = variances(fit.information, contrasts)
    return np.asarray((stdtrit(freedom, 0.975) * np.sqrt(ratio * variance))[:, 0])


def variances(information: Array, contrasts: Array) -> Array:
    """[L, contrasts] variances by the model; contrasts [contrasts, k] or [L, contrasts, k]."""
    inverse = np.linalg.inv(information)
    every = np.broadcast_to(contrasts, (len(inverse), *contrasts.shape[-2:]))
    return np.asarray(np.einsum("lkp,lpq,lkq->lk", every, inverse, every, optimize=True))


def bounded(games: Leagues, reference: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """([L, players] whether games bound a player from above, [L, players] the same from below).

    As `arena.stats.fitted.Fitted.bounded`, by chains of up to all players.
    """
    cells, players = games.cells, games.cells.players
    held = np.zeros((len(games.counts), players, players), dtype=bool)
    held[:] = np.eye(players, dtype=bool)
    held[:, cells.first, cells.second] |= games.counts[:, :, :2].sum(2) > 0
    held[:, cells.second, cells.first] |= games.counts[:, :, 1:].sum(2) > 0
    for _ in range(players.bit_length()):
        held = held @ held
    return held[:, reference], held[:, :, reference]


def profile_ends(
    games: Leagues,
    beta: Array,
    slope: Array,
    best: Evaluated,
    contrast: Array,
    drop: Array,
    side: float,
) -> Array:
    """[L] ends of the profile, gamma1 held; as `arena.stats.profile.profile_end`.

    best  the evaluation at beta and slope
    """
    now = best
    target = now.value - drop
    for _ in range(_STEPS):
        right = np.stack([now.gradient, np.broadcast_to(contrast, beta.shape)], axis=2)
        newton, along = np.moveaxis(np.linalg.solve(now.curvature, right), 2, 0)
        above = 2 * (now.value - target) + np.sum(now.gradient * newton, axis=1)
        size = np.sqrt(np.maximum(above, 0.0) / (along @ contrast))
        step = newton + side * size[:, None] * along
        # A league whose end is found stays where it is.
        arrived = np.abs(step @ contrast) < 1e-4
        if arrived.all():
            return (beta + step) @ contrast
        step[arrived] = 0.0
        step *= np.minimum(1.0, 5.0 / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
        for _ in range(20):
            tried = evaluated(games, beta + step, slope)
            low = ~(tried.value >= target - drop)
            if not low.any():
                break
            step[low] /= 2
        beta, now = beta + step, tried
    raise ArithmeticError("the end of an interval was not found")


def dispersion(
    games: Leagues, fit: Evaluated, contrasts: Array, *, seats: bool
) -> tuple[Array, Array]:
    """(ratio, freedom), [L, contrasts] each; as `arena.stats.dispersion`, moderated.

    contrasts  [contrasts, k] or [L, contrasts, k]
    """
    inverse = np.linalg.inv(fit.information)
    moved = np.broadcast_to(contrasts, (len(inverse), *contrasts.shape[-2:])) @ inverse
    weights = np.einsum("lacp,lkp->lack", fit.derivatives, moved, optimize=True)
    cells = games.cells
    sides = np.ones(len(cells.first)) if seats else np.sign(cells.second - cells.first)
    together = np.zeros((*weights.shape[:3], 1))
    together[:, 0, :, 0] = sides
    every = np.concatenate([together, weights], axis=3)
    ratio, freedom = plain_dispersion(games, fit, inverse, every)
    pooled = (freedom[:, :1] * ratio[:, :1] + PRIOR_FREEDOM) / (freedom[:, :1] + PRIOR_FREEDOM)
    own = freedom[:, 1:]
    return (own * ratio[:, 1:] + PRIOR_FREEDOM * pooled) / (own + PRIOR_FREEDOM), (
        own + PRIOR_FREEDOM
    )


def plain_dispersion(
    games: Leagues, fit: Evaluated, inverse: Array, weights: Array
) -> tuple[Array, Array]:
    """(ratio, freedom), [L, k], of sums of scores; weights [L, 2, cells, k]."""
    chances, one, other = fit.chances, games.cells.one, games.cells.other
    n, pairs = games.counts.sum(2), games.joint.sum((2, 3))
    # [L, 3, cells, k] the weighted score of every outcome.
    score = (
        np.moveaxis(chances.decided, 0, 1)[..., None] * weights[:, None, 0]
        + np.moveaxis(chances.tied, 0, 1)[..., None] * weights[:, None, 1]
    )
    p = np.moveaxis(chances.p, 0, 1)
    found = np.einsum("lco,lock->lk", games.counts, score**2)
    found += 2 * np.einsum(
        "lpij,lipk,ljpk->lk", games.joint, score[:, :, one], score[:, :, other], optimize=True
    )
    variance = np.einsum("loc,lock->lck", p, score**2)
    spread = np.einsum("lc,lck->lk", n, np.einsum("loc,lock->lck", p, score**4) - variance**2)
    spread += 4 * np.einsum("lp,lpk->lk", pairs, variance[:, one] * variance[:, other])
    dd, dt, tt = (part[..., None] for part in chances.variance)
    # [L, 2, cells, k] W z; its products with J I^-1 J' are the leverage.
    moved = np.stack(
        [dd * weights[:, 0] + dt * weights[:, 1], dt * weights[:, 0] + tt * weights[:, 1]], axis=1
    )
    back = np.einsum("lack,lacp->lckp", moved, fit.derivatives, optimize=True)
    spanned = np.einsum("lckp,lpq->lckq", back, inverse, optimize=True)
    leverage = np.einsum("lc,lckp,lckp->lk", n, spanned, back, optimize=True)
    leverage += 2 * np.einsum(
        "lx,lxkp,lxkp->lk", pairs, spanned[:, one], back[:, other], optimize=True
    )
    expected = np.einsum("lc,lck->lk", n, variance) - leverage
    sound = (expected > 0) & (spread > 0)
    safe = np.where(sound, expected, 1.0)
    freedom = np.where(sound, 2 * safe**2 / np.where(sound, spread, 1.0), 0.0)
    return np.where(sound, found / safe, 1.0), freedom
