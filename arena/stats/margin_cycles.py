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
from arena.stats.margin_units import MarginResult, mean_margins, summed


@dataclass(frozen=True, slots=True)
class PairMargin(Generic[P]):
    """The margin of one player against another.

    a        a player
    b        its opponent
    units    number of units, as in `arena.stats.margin_units`
    mean     mean margin, from a's side
    low      lower end of its 95 % interval, by Student's t with the shrunk variances of
             `arena.stats.margin_units`; None where no margins vary
    high     upper end of the interval, None as `low`
    ps       probabilities of a mean of this size or more: if a is not stronger; the same for b
    error    standard error of the mean; 0 where no margins vary
    freedom  degrees of freedom of the error; 0 where no margins vary
    """

    a: P
    b: P
    units: int
    mean: float
    low: float | None
    high: float | None
    ps: tuple[float, ...]
    error: float = 0.0
    freedom: float = 0.0

    def turned(self) -> "PairMargin[P]":
        """The same from b's side."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        ends = (-self.mean, low, high, self.ps[::-1])
        return PairMargin(self.b, self.a, self.units, *ends, self.error, self.freedom)


def pair_margins(results: Sequence[MarginResult[P]]) -> list[PairMargin[P]]:
    """The margins of every two players that met. Raises: EngineError as `summed`."""
    sums = summed(results)
    margins = mean_margins(sums.pairs, sums.singles)
    numbers = np.stack([sums.pairs.number, sums.singles.number])
    weights = np.array([[noise.weight] for noise in margins.kinds])
    known = np.minimum(np.maximum(numbers - 1, 0.0) + weights, margins.freedom[:, None])
    found = []
    for at, (a, b) in enumerate(sums.couples):
        mean, units = float(margins.mean[at]), int(margins.number[at])
        error = math.sqrt(float(margins.error[at]))
        if error == 0.0:
            # Nothing says how much margins vary: units are even or not, as tosses of a coin.
            ps = tuple(0.5**units if side * mean > 0 else 1.0 for side in (1, -1))
            found.append(PairMargin(a, b, units, mean, None, None, ps))
            continue
        # Satterthwaite's degrees of freedom, of both kinds of units together.
        share = margins.parts[:, at] / margins.error[at]
        freedom = 1 / float(np.sum(share**2 / known[:, at]))
        half = float(stdtrit(freedom, 0.975)) * error
        ps = tuple(float(stdtr(freedom, side * mean / error)) for side in (-1, 1))
        ends = (mean - half, mean + half)
        found.append(PairMargin(a, b, units, mean, *ends, ps, error, freedom))
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
