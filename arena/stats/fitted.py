"""A fitted model of games of two seats: intervals and covariance of differences of strengths.

All values are natural logarithms. A difference is that of two players, or of a player and the mean
of all players. Its 95 % interval holds the values at which the profile of the penalised likelihood
lies no more than r q^2 / 2 below its maximum, with r the ratio of sandwich to model variance and q
the quantile of Student's t at the degrees of freedom of r. Among more than 60 players it is the
estimate -+ q sandwich standard errors, which is the same where the likelihood is close to a
quadratic. Where one of the two has fewer than 10 points, or fewer than 10 that it did not get, it
is not, and the interval follows the likelihood along a line (`arena.stats.profile.line_end`).

Where the model has gamma1, the profile holds it at its estimate, and r is multiplied by how much
more the difference varies when gamma1 is fitted as well. At gamma1 = 2 a player in the second seat
could be as strong as it likes, so a profile that moves gamma1 may have no end.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.special import stdtrit

from arena.stats.davidson import Likelihood, Point
from arena.stats.design import Layout, Vector
from arena.stats.dispersion import Dispersion, Sandwich
from arena.stats.meetings import Cells
from arena.stats.newton import maximum
from arena.stats.profile import line_end, profile_end
from arena.stats.seat_advantage import is_identified, shows_slope, with_slope
from pbt.errors import EngineError

PROFILED_PLAYERS, FEW_POINTS = 60, 10.0


@dataclass(frozen=True)
class Fitted:
    """A fit.

    likelihood  the penalised likelihood
    best        where it is largest
    sloped      where it is largest with gamma1 in the model, whether `best` has it or not; None
                where gamma1 cannot be fitted
    """

    likelihood: Likelihood
    best: Point
    sloped: Point | None

    @cached_property
    def sandwich(self) -> Sandwich:
        """How much wider or narrower estimates spread than the model says."""
        return Sandwich(self.best)

    @property
    def players(self) -> int:
        return self.best.layout.players

    def contrast(self, at: int, to: int | None) -> Vector:
        """[size] the difference of player `at` and player `to`, None: the mean."""
        contrast = np.zeros(self.best.layout.size)
        if to is None:
            contrast[: self.players] = -1 / self.players
        else:
            contrast[to] = -1.0
        contrast[at] += 1.0
        return contrast

    def dispersion(self, at: int, to: int | None) -> Dispersion:
        """How much wider or narrower a difference spreads than the model says."""
        if (at, to) not in self._dispersions:
            self._dispersions[at, to] = self.sandwich.of_strengths(self.contrast(at, to))
        return self._dispersions[at, to]

    @cached_property
    def _dispersions(self) -> dict[tuple[int, int | None], Dispersion]:
        return {}

    def covariance(self, to: int | None) -> NDArray[np.float64]:
        """[players, players] sandwich covariance of all differences to one reference."""
        rows = np.stack([self.contrast(at, to) for at in range(self.players)])
        scale = np.sqrt([self.dispersion(at, to).ratio for at in range(self.players)])
        return np.outer(scale, scale) * (rows @ self.best.covariance @ rows.T)

    def interval(self, at: int, to: int | None) -> tuple[float, float]:
        """(low, high), the 95 % interval of a difference.

        Raises: EngineError when an end is not found.
        """
        contrast = self.contrast(at, to)
        if at == to or self.players == 1:
            return 0.0, 0.0
        spread = self.dispersion(at, to)
        drop = spread.ratio * float(stdtrit(spread.freedom, 0.975)) ** 2 / 2
        variance = float(contrast @ self.best.covariance @ contrast)
        small = self.players <= PROFILED_PLAYERS
        if small or self._few[at] or (to is not None and self._few[to]):
            end, (likelihood, best) = profile_end if small else line_end, self._held_slope
            drop *= variance / float(contrast @ best.covariance @ contrast)
            return (
                end(likelihood, best, contrast, drop, -1),
                end(likelihood, best, contrast, drop, 1),
            )
        value, half = float(contrast @ self.best.beta), math.sqrt(2 * drop * variance)
        return value - half, value + half

    @cached_property
    def _held_slope(self) -> tuple[Likelihood, Point]:
        """The likelihood and its maximum where gamma1 is not fitted, if the model has it."""
        layout = self.best.layout
        if not layout.slope:
            return self.likelihood, self.best
        layout = replace(layout, held=float(self.best.beta[self.players + 1]))
        cells, penalised = self.likelihood.cells, self.likelihood.penalised
        likelihood = Likelihood(cells, layout, penalised=penalised)
        return likelihood, likelihood.at(self.best.beta[layout.free])

    def bounded(self, to: int | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """([players] whether games bound a player from above, [players] the same from below).

        The reference bounds a player from above when it did not lose some game against a player
        that did not lose some game against ... the player. Without such a chain the likelihood
        grows with the player's distance for ever (Ford 1957). For the mean, the reference is one of
        the largest group of players that bound each other both ways.
        """
        if to is None:
            groups = connected_components(self._held, connection="strong")[1]
            to = int(np.argmax(groups == np.argmax(np.bincount(groups))))
        above, below = np.zeros((2, self.players), dtype=bool)
        for bounded, graph in ((above, self._held), (below, self._held.T)):
            bounded[breadth_first_order(graph, to, return_predecessors=False)] = True
        return above, below

    @cached_property
    def _held(self) -> csr_array:
        """[players, players] whether the row won or drew a game against the column."""
        cells = self.likelihood.cells
        forth, back = cells.counts[:, :2].sum(1) > 0, cells.counts[:, 1:].sum(1) > 0
        rows = np.concatenate([cells.first[forth], cells.second[back]])
        columns = np.concatenate([cells.second[forth], cells.first[back]])
        shape = (self.players, self.players)
        return coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()

    @cached_property
    def _few(self) -> NDArray[np.bool_]:
        """[players] whether a player has few points, or few that it did not get."""
        cells = self.likelihood.cells
        won = cells.counts @ np.array([1.0, 0.5, 0.0])
        lost = cells.games - won
        got, left = (
            np.bincount(cells.first, one, self.players)
            + np.bincount(cells.second, other, self.players)
            for one, other in ((won, lost), (lost, won))
        )
        few: NDArray[np.bool_] = np.minimum(got, left) < FEW_POINTS
        return few


def most_likely(cells: Cells, pinned: int, *, seated: bool, penalised: bool) -> Fitted:
    """The fit of the model that the games support.

    cells      the games; they connect all players
    pinned     index of the player whose strength is 0
    seated     whether the order of seats is known
    penalised  False: plain maximum likelihood
    Raises: EngineError when the fit does not converge, and without the penalty where no chain of
    wins or draws leads from some player to another.
    """
    seat = seated and is_identified(cells)
    layout = Layout(cells.players, pinned, seat=seat, ties=bool(cells.counts[:, 1].any()))
    likelihood = Likelihood(cells, layout, penalised=penalised)
    level = maximum(likelihood.at, np.zeros(len(layout.free)), needed="a win and a loss")
    sloped = with_slope(level, likelihood) if seat else None
    fitted = Fitted(likelihood, level, sloped and sloped[1])
    if sloped is not None and shows_slope(sloped[1]):
        fitted = Fitted(*sloped, sloped[1])
    if not penalised and not all(bounded.all() for bounded in fitted.bounded(pinned)):
        raise EngineError(
            "maximum likelihood did not converge: a rating would be infinite, because no chain of "
            "wins or draws leads from some player to another; fit with the penalty"
        )
    return fitted
