"""The likelihood of `arena.stats.davidson` for many leagues of the same meetings at once.

It computes the same with whole arrays over leagues, and without regard to large leagues.
`bench.rating_coverage` draws tens of thousands of leagues, for which the fit of one league at a
time would take hours, and holds the first of every cell against `arena.stats.rating_fit`.

Arrays begin with the league, [L, ...]. Parameters, [L, k], are the strengths of all players but the
first, which is the anchor, then gamma0, then log nu where games are tied. gamma1, [L], stands apart
and is 0 where a league's model has none. All values are natural logarithms.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arena.stats.chances import Chances
from arena.stats.meetings import Cells, Meetings, seated_cells

Array = NDArray[np.float64]
Leagues1D = NDArray[np.bool_] | NDArray[np.intp] | slice
_STEPS, _SLOPED_STEPS, _OUTSIDE = 200, 60, 1.5


@dataclass(frozen=True)
class Leagues:
    """The games of L leagues of the same meetings.

    cells   of one of them: what sits where
    counts  [L, cells, 3] games that the first player won, drew and lost
    joint   [L, pairs, 3, 3] seed pairs
    ties    whether games are tied
    """

    cells: Cells
    counts: Array
    joint: Array
    ties: bool

    @classmethod
    def of(cls, drawn: Sequence[Meetings], players: int) -> "Leagues":
        """The games of these leagues. Every two players that meet have games in both orders."""
        every = [seated_cells(meetings, players) for meetings in drawn]
        counts = np.stack([cells.counts for cells in every])
        joint = np.stack([cells.joint for cells in every])
        return cls(every[0], counts, joint, bool(counts[:, :, 1].any()))

    @property
    def size(self) -> int:
        """Number of parameters without gamma1."""
        return self.cells.players + self.ties

    @cached_property
    def level(self) -> Array:
        """[2, cells, k] derivatives of d and of log nu without gamma1."""
        return np.asarray(derivatives(self, np.zeros(1), None)[0])

    @cached_property
    def products(self) -> Array:
        """[3 * cells, k * k] J_d' J_d, J_d' J_t + J_t' J_d and J_t' J_t of every cell, level."""
        by_d, by_tie = self.level
        cross = np.einsum("cp,cq->cpq", by_d, by_tie)
        parts = [
            np.einsum("cp,cq->cpq", by_d, by_d),
            cross + np.swapaxes(cross, 1, 2),
            np.einsum("cp,cq->cpq", by_tie, by_tie),
        ]
        return np.concatenate(parts).reshape(-1, self.size**2)

    def chosen(self, which: Leagues1D) -> "Leagues":
        """Some of the leagues, or some of them several times."""
        return replace(self, counts=self.counts[which], joint=self.joint[which])


@dataclass(frozen=True)
class Evaluated:
    """The penalised log-likelihood at some parameters.

    value        [L]
    gradient     [L, k]; gamma1 comes last where it is fitted
    curvature    [L, k, k] about the negative Hessian
    information  [L, k, k] without the penalty
    derivatives  [L, 2, cells, k] of d and of log nu
    chances      of every cell, [L, cells]
    """

    value: Array
    gradient: Array
    curvature: Array
    information: Array
    derivatives: Array
    chances: Chances


def evaluated(games: Leagues, beta: Array, slope: Array, *, sloped: bool = False) -> Evaluated:
    """The penalised log-likelihood. sloped: whether gamma1 is one of the parameters."""
    cells, n = games.cells, games.counts.sum(2)
    strength = np.pad(beta[:, : cells.players - 1], ((0, 0), (1, 0)))
    one, two = strength[:, cells.first], strength[:, cells.second]
    means = (one + two) / 2
    d = one - two + beta[:, cells.players - 1, None] + slope[:, None] * means
    log_nu = beta[:, -1:] if games.ties else np.full((len(beta), 1), -np.inf)
    chances = Chances.of(d, log_nu)
    halves, ties = (games.counts[:, :, 0] - games.counts[:, :, 2]) / 2, games.counts[:, :, 1]
    value = np.sum(halves * d - n * chances.total, axis=1)
    value += np.sum(ties * log_nu, axis=1) if games.ties else 0.0
    weights = np.concatenate([n * part for part in chances.variance], axis=1)
    inner = (weights @ games.products).reshape(-1, games.size, games.size)
    value += np.linalg.slogdet(inner)[1] / 2
    spread = np.linalg.inv(inner).reshape(len(beta), -1) @ games.products.T
    # The parts of J I^-1 J' of every cell; that of d and log nu stands for both of its places.
    g_dd, g_dt, g_tt = np.split(spread, 3, axis=1)
    raised = 1 + sum(np.split(spread * weights, 3, axis=1)) / n
    third = chances.third
    score = np.stack(
        [
            halves
            - n * (chances.win - chances.loss) / 2
            + n / 2 * (g_dd * third[0] + g_dt * third[1] + g_tt * third[2]),
            ties - n * chances.tie + n / 2 * (g_dd * third[1] + g_dt * third[2] + g_tt * third[3]),
        ],
        axis=1,
    )
    lifted = weights * np.tile(raised, 3)
    if not sloped and not slope.any():
        by = np.broadcast_to(games.level, (len(beta), *games.level.shape))
        gradient = score.reshape(len(beta), -1) @ games.level.reshape(-1, games.size)
        curvature = (lifted @ games.products).reshape(inner.shape)
        return Evaluated(value, gradient, curvature, inner, by, chances)
    by = derivatives(games, slope, means if sloped else None)
    gradient = np.einsum("lac,lacp->lp", score, by)
    return Evaluated(value, gradient, gram(by, lifted), gram(by, weights), by, chances)


def derivatives(games: Leagues, slope: Array, means: Array | None) -> Array:
    """[L, 2, cells, k] derivatives of d and log nu; means [L, cells]: gamma1 is a parameter."""
    cells = games.cells
    unit, strengths = np.eye(cells.players)[:, 1:], cells.players - 1
    found = np.zeros((len(slope), 2, len(cells.first), games.size + (means is not None)))
    found[:, 0, :, :strengths] = (1 + slope / 2)[:, None, None] * unit[cells.first]
    found[:, 0, :, :strengths] -= (1 - slope / 2)[:, None, None] * unit[cells.second]
    found[:, 0, :, strengths] = 1.0
    if games.ties:
        found[:, 1, :, games.size - 1] = 1.0
    if means is not None:
        found[:, 0, :, -1] = means
    return found


def gram(by: Array, weights: Array) -> Array:
    """[L, k, k] sum over the cells of J' W J; weights [L, 3 * cells], of dd, dt and tt."""
    dd, dt, tt = np.split(weights, 3, axis=1)
    weighted = np.stack(
        [
            dd[..., None] * by[:, 0] + dt[..., None] * by[:, 1],
            dt[..., None] * by[:, 0] + tt[..., None] * by[:, 1],
        ],
        axis=1,
    )
    flat = (len(by), -1, by.shape[3])
    return np.asarray(np.swapaxes(by.reshape(flat), 1, 2) @ weighted.reshape(flat))


def most_likely(
    games: Leagues, beta: Array, slope: Array, *, sloped: bool = False
) -> tuple[Array, Array]:
    """(parameters, gamma1) at the maximum. A gamma1 that runs away ends at 1.5 or -1.5."""
    for _ in range(_SLOPED_STEPS if sloped else _STEPS):
        now = evaluated(games, beta, slope, sloped=sloped)
        step = np.linalg.solve(now.curvature, now.gradient[..., None])[..., 0]
        inside = np.abs(slope) < _OUTSIDE
        if np.all(np.abs(step[inside]) < 1e-7):
            break
        step /= np.maximum(1.0, np.abs(step).max(axis=1) / 5.0)[:, None]
        for _ in range(20):
            ahead = np.clip(slope + step[:, -1], -_OUTSIDE, _OUTSIDE) if sloped else slope
            tried = evaluated(games, beta + step[:, : games.size], ahead, sloped=sloped)
            worse = ~(tried.value >= now.value - 1e-9 * np.abs(now.value)) & inside
            if not worse.any():
                break
            step[worse] /= 2
        beta, slope = beta + step[:, : games.size] * inside[:, None], ahead
    return beta, slope
