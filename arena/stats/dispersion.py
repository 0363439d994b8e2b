"""How much wider or narrower than the model says an estimate spreads: the clustered sandwich.

The two games of a seed pair share their seed, so they may depend on each other. The sandwich
variance of c' beta adds up (c' I^-1 u_g)^2 over clusters g, with u_g the score of a whole seed pair
or of a single game (Liang and Zeger 1986). Its ratio to the model's variance c' I^-1 c says how
much the model is off. Three things are done to that ratio, because few clusters, or games that one
player almost always wins, make it far too small:

- It is divided by what it is expected to be under the model with fitted residuals, which are
  smaller than true ones by their leverage (as in Bell and McCaffrey 2002).
- Its degrees of freedom are those of Satterthwaite 1946. They come from the exact fourth moments of
  the scores, so a ratio from games that were all won has next to none.
- It is moderated as variances of genes are (Smyth 2004): it is averaged with the ratio of all games
  together, and that one with 1, each of which counts as 20 degrees of freedom.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arena.stats.davidson import Point
from arena.stats.design import EVERY, Vector

PRIOR_FREEDOM = 20.0


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Ratio of sandwich variance to model variance.

    ratio    the ratio, 1 where games are independent and the model holds
    freedom  degrees of freedom behind it
    """

    ratio: float
    freedom: float

    def towards(self, prior: "Dispersion") -> "Dispersion":
        """This ratio, moderated by a prior one."""
        freedom = self.freedom + PRIOR_FREEDOM
        return Dispersion(
            (self.freedom * self.ratio + PRIOR_FREEDOM * prior.ratio) / freedom, freedom
        )


MODEL = Dispersion(1.0, 0.0)


class Sandwich:
    """The dispersion of linear combinations of the parameters at a fitted point."""

    def __init__(self, point: Point) -> None:
        self._point, cells = point, point.design.cells
        inverse = point.covariance
        self._own = point.design.between(inverse, EVERY, EVERY)
        self._across = point.design.between(inverse, cells.one, cells.other)
        self._games, self._pairs = cells.games, cells.joint.sum((1, 2))
        # The pairs of players with the same games add up to the ratio of all games together.
        sides = np.where(cells.first < cells.second, 1.0, -1.0)
        self._of_strengths = self._of_scores(sides, 0.0).towards(MODEL)
        self._of_seats = self._of_scores(np.ones(len(sides)), 0.0).towards(MODEL)

    def of_strengths(self, contrast: Vector) -> Dispersion:
        """The moderated dispersion of a difference of strengths, contrast [size]."""
        return self.unmoderated(contrast).towards(self._of_strengths)

    def of_seats(self, contrast: Vector) -> Dispersion:
        """The moderated dispersion of the seat's advantage, contrast [size]."""
        return self.unmoderated(contrast).towards(self._of_seats)

    def of_ties(self, contrast: Vector) -> Dispersion:
        """The moderated dispersion of log nu, contrast [size]."""
        return self.unmoderated(contrast).towards(MODEL)

    def unmoderated(self, contrast: Vector) -> Dispersion:
        """The dispersion from these games alone, contrast [size]."""
        return self._of_scores(*self._point.design.along(self._point.covariance @ contrast))

    def _of_scores(self, by_d: Vector, by_tie: float) -> Dispersion:
        """The dispersion of the sum of by_d * (score by d) + by_tie * (score by log nu).

        by_d    [cells] weight of the score by d
        by_tie  weight of the score by log nu
        """
        cells, chances, games = self._point.design.cells, self._point.chances, self._games
        one, other = cells.one, cells.other
        score = by_d * chances.decided + by_tie * chances.tied
        square = score * score
        found = float(np.sum(cells.counts.T * square))
        both = np.einsum("pij,jp->pi", cells.joint, score[:, other])
        found += 2 * float(np.sum(both * score[:, one].T))
        variance = np.sum(chances.p * square, axis=0)
        spread = float(games @ (np.sum(chances.p * square * square, axis=0) - variance**2))
        spread += 4 * float(self._pairs @ (variance[one] * variance[other]))
        expected = float(games @ variance) - self._leverage(by_d, by_tie)
        if spread <= 0 or expected <= 0:
            return MODEL
        return Dispersion(found / expected, 2 * expected**2 / spread)

    def _leverage(self, by_d: Vector, by_tie: float) -> float:
        """What fitting takes from the expected sum of squares."""
        cells, (dd, dt, tt) = self._point.design.cells, self._point.chances.variance
        w_d, w_t = dd * by_d + dt * by_tie, dt * by_d + tt * by_tie
        one, other = cells.one, cells.other
        return float(
            self._games @ _form(w_d, w_t, self._own, w_d, w_t)
            + 2 * self._pairs @ _form(w_d[one], w_t[one], self._across, w_d[other], w_t[other])
        )


def _form(
    a_d: Vector,
    a_t: Vector,
    matrix: tuple[Vector, Vector, Vector, Vector],
    b_d: Vector,
    b_t: Vector,
) -> NDArray[np.float64]:
    """[n] the bilinear form a' M b of every 2 x 2 matrix."""
    dd, dt, td, tt = matrix
    return a_d * (dd * b_d + dt * b_t) + a_t * (td * b_d + tt * b_t)
