"""Units of margin: sums over the units of two players, and how much a unit varies.

A unit is the mean margin of a seed pair, whose two games have the seats swapped, or else the margin
of a single game. What a deal gives one side is in the margin of a single game but not in that of a
pair, so the two kinds vary differently.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from arena.stats.bradley_terry import P
from pbt.errors import EngineError

Floats = NDArray[np.float64]
KINDS = 2
"""Of units: seed pairs, single games."""


@dataclass(frozen=True, slots=True)
class MarginResult(Generic[P]):
    """The units of one player against another.

    a        a player
    b        its opponent
    units    number of units
    total    sum of the margins of `a`
    squares  sum of their squares
    paired   whether each unit is a seed pair; else each is a single game
    """

    a: P
    b: P
    units: int
    total: float
    squares: float
    paired: bool = False


@dataclass(frozen=True, slots=True)
class Units:
    """The units of one kind of every two players that met.

    number   [pairs] how many units, 0 where the two have none of this kind
    mean     [pairs] mean margin of a unit, from the first's side; 0 without units
    squares  [pairs] sum of the squared deviations of units from their mean
    """

    number: Floats
    mean: Floats
    squares: Floats


@dataclass(frozen=True, slots=True)
class Noise:
    """The variance of a unit of one kind.

    variance  [pairs] of each pair of players, shrunk to `pooled`
    pooled    within pairs of players, by degrees of freedom; 0 where no two have different units
    weight    degrees of freedom that `pooled` counts for in each pair of players; inf where their
              variances differ no more than chance makes them
    freedom   degrees of freedom of `pooled`
    """

    variance: Floats
    pooled: float
    weight: float
    freedom: float


def unit_noise(units: Units) -> Noise:
    """The variance of units, shrunk by linear empirical Bayes (Bühlmann & Straub 1970).

    With s^2 and d = n - 1 of a pair, the shrunk variance is (w pooled + d s^2) / (w + d). The
    weight is w = 2 (pooled^2 + v) / v: the expected sampling variance of s^2, times d, over the
    variance v of the true variances, for units that are normal. v is found by moments:
    E sum d (s^2 - pooled)^2 = v (D - sum d^2 / D) + 2 (pairs - 1) (pooled^2 + v), D = sum d. The
    posterior mean under Smyth's prior (2004, limma) has the same form; the moments of s^2 itself
    also exist where a pair's units are all alike, so that log s^2 does not.
    """
    freedom = np.maximum(units.number - 1, 0.0)
    total = float(freedom.sum())
    pooled = float(units.squares.sum()) / total if total else 0.0
    if pooled == 0.0:
        return Noise(np.zeros(len(freedom)), 0.0, math.inf, total)
    own = units.squares / np.maximum(freedom, 1.0)
    pairs = int(np.count_nonzero(freedom))
    spread = float(freedom @ (own - pooled) ** 2) - 2 * (pairs - 1) * pooled**2
    scale = total - float(freedom @ freedom) / total + 2 * (pairs - 1)
    between = spread / scale if pairs > 1 else 0.0
    if between <= 0.0:
        return Noise(np.full(len(freedom), pooled), pooled, math.inf, total)
    weight = 2 * (pooled**2 + between) / between
    return Noise((weight * pooled + units.squares) / (weight + freedom), pooled, weight, total)


def noise_of_kinds(pairs: Units, singles: Units) -> tuple[Noise, Noise]:
    """The variance of a seed pair and of a single game.

    A kind whose units never differ, or that has too few to tell, takes its variance from the other:
    a single game varies as twice a pair, as if the games of a pair were independent; a pair as a
    single game, since a mean of two never varies more.
    """
    paired, single = unit_noise(pairs), unit_noise(singles)
    if paired.pooled and not single.pooled:
        single = _even(2 * paired.pooled, paired)
    elif single.pooled and not paired.pooled:
        paired = _even(single.pooled, single)
    return paired, single


def _even(pooled: float, known: Noise) -> Noise:
    """Every two players have this variance, which is known as well as that of the other kind."""
    return Noise(np.full(len(known.variance), pooled), pooled, math.inf, known.freedom)


@dataclass(frozen=True, slots=True)
class MeanMargins:
    """The mean margins of every two players, from units of both kinds.

    number    [pairs] units of both kinds
    mean      [pairs] mean margin, from the first's side; the means of the kinds by their precision
    error     [pairs] variance of `mean`; 0 where nothing varies
    parts     [kinds, pairs] d error / d log variance of a unit of the kind; they sum to `error`
    freedom   [kinds] degrees of freedom of the variances
    kinds     the variance of a unit, by kind
    """

    number: Floats
    mean: Floats
    error: Floats
    parts: Floats
    freedom: Floats
    kinds: tuple[Noise, Noise]


def mean_margins(pairs: Units, singles: Units) -> MeanMargins:
    """The mean margins of seed pairs and single games together; every two have at least one."""
    kinds = noise_of_kinds(pairs, singles)
    number = np.stack([pairs.number, singles.number])
    means = np.stack([pairs.mean, singles.mean])
    both: Floats = number.sum(axis=0)
    freedom = np.array([noise.freedom for noise in kinds])
    if not all(noise.pooled for noise in kinds):
        zeros = np.zeros_like(number)
        return MeanMargins(both, (number * means).sum(0) / both, zeros[0], zeros, freedom, kinds)
    precision = number / np.stack([noise.variance for noise in kinds])
    share = precision / precision.sum(axis=0)
    error = 1 / precision.sum(axis=0)
    return MeanMargins(both, (share * means).sum(axis=0), error, share * error, freedom, kinds)


@dataclass(frozen=True, slots=True)
class Summed(Generic[P]):
    """Results summed up, every two players once.

    couples  the two players
    pairs    their seed pairs
    singles  their single games
    units    units by player, of both kinds
    """

    couples: list[tuple[P, P]]
    pairs: Units
    singles: Units
    units: dict[P, int]


def summed(results: Iterable[MarginResult[P]]) -> Summed[P]:
    """The sums, in the order in which the players first met.

    Raises: EngineError on a player against itself, and on numbers that no units have.
    """
    sums: dict[tuple[P, P], Floats] = {}
    units: dict[P, int] = {}
    for one in results:
        most = one.units * one.squares * (1 + 1e-9)
        if one.a == one.b or one.units < 1 or not one.total**2 <= most < math.inf:
            raise EngineError(
                f"result {one}: expected two players, at least one unit, and finite sums with "
                "total^2 of at most units * squares"
            )
        couple, sign = (
            ((one.a, one.b), 1.0) if (one.b, one.a) not in sums else ((one.b, one.a), -1.0)
        )
        own = sums.setdefault(couple, np.zeros((KINDS, 3)))
        own[0 if one.paired else 1] += one.units, sign * one.total, one.squares
        for player in (one.a, one.b):
            units[player] = units.get(player, 0) + one.units
    table = np.array(list(sums.values()), dtype=np.float64).reshape(-1, KINDS, 3)
    pairs, singles = (_units(*table[:, kind].T) for kind in range(KINDS))
    return Summed(list(sums), pairs, singles, units)


def _units(number: Floats, total: Floats, squares: Floats) -> Units:
    mean = total / np.maximum(number, 1.0)
    own = squares - total * mean
    # A difference of two large sums below their rounding is 0.
    return Units(number, mean, np.where(own > 1e-12 * squares, own, 0.0))
