"""Margins between every two players, and the circles in them: A wins of B, B of C, C of A.

They are what `arena.stats.cycles` finds in games won, for games whose objective is the margin.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
from scipy.special import stdtr, stdtrit

from arena.stats.bradley_terry import P
from arena.stats.cycles import CYCLE_LEVEL, Cycle, corrected, cycles_among
from arena.stats.margin_ratings import MarginResult
from arena.stats.margin_variance import Met, unit_noise


@dataclass(frozen=True, slots=True)
class PairMargin(Generic[P]):
    """The margin of one player against another.

    a      a player
    b      its opponent
    units  number of units, as in `arena.stats.margin_ratings`
    mean   mean margin of a unit, from a's side
    low    lower end of its 95 % interval, by Student's t with the shrunk variance of
           `arena.stats.margin_variance`; None where no margins vary
    high   upper end of the interval, None as `low`
    ps     probabilities of a mean of this size or more: if a is not stronger; the same for b
    """

    a: P
    b: P
    units: int
    mean: float
    low: float | None
    high: float | None
    ps: tuple[float, ...]

    def turned(self) -> "PairMargin[P]":
        """The same from b's side."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return PairMargin(self.b, self.a, self.units, -self.mean, low, high, self.ps[::-1])


def pair_margins(results: Sequence[MarginResult[P]]) -> list[PairMargin[P]]:
    """The margins of these pairs. results: each pair of players once."""
    number = np.array([one.units for one in results], dtype=np.float64)
    total = np.array([one.total for one in results])
    squares = np.array([one.squares for one in results], dtype=np.float64)
    own = squares - total**2 / number
    # A difference of two large sums below their rounding is 0.
    own = np.where(own > 1e-12 * squares, own, 0.0)
    nowhere = np.zeros(len(results), dtype=np.intp)
    met = Met(nowhere, nowhere, number, total / number, own, 0)
    noise = unit_noise(met)
    found = []
    for at, one in enumerate(results):
        mean = float(met.mean[at])
        error = math.sqrt(float(noise.variance[at]) / one.units)
        if error == 0.0:
            # Nothing says how much margins vary: units are even or not, as tosses of a coin.
            ps = tuple(0.5**one.units if side * mean > 0 else 1.0 for side in (1, -1))
            found.append(PairMargin(one.a, one.b, one.units, mean, None, None, ps))
            continue
        freedom = min(one.units - 1 + noise.weight, noise.freedom)
        half = float(stdtrit(freedom, 0.975)) * error
        ps = tuple(float(stdtr(freedom, side * mean / error)) for side in (-1, 1))
        found.append(PairMargin(one.a, one.b, one.units, mean, mean - half, mean + half, ps))
    return found


def margin_cycles(
    players: Sequence[P], pairs: Sequence[PairMargin[P]], level: float = CYCLE_LEVEL
) -> list[Cycle[P]]:
    """Every three players of which each wins of the next, the most certain cycle first.

    The chance that even one of them is not a cycle is below `level`, by Holm's correction over both
    directions of all pairs.
    """
    place: Mapping[P, int] = {player: at for at, player in enumerate(players)}
    p, met = np.ones((len(players),) * 2), np.zeros((len(players),) * 2, dtype=bool)
    for pair in pairs:
        for one in (pair, pair.turned()):
            p[place[one.a], place[one.b]], met[place[one.a], place[one.b]] = one.ps[0], True
    return cycles_among(players, corrected(p, met), level)
