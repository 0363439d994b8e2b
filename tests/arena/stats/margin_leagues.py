"""Leagues of margins, and their fit by plain matrices, for the tests of margins."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arena.stats.margin_ratings import MarginRating, MarginRatings
from arena.stats.margin_units import MarginResult, Units, mean_margins
from arena.stats.margin_variance import Met

Floats = NDArray[np.float64]


def units(a: str, b: str, margins: Sequence[float], *, paired: bool = False) -> MarginResult[str]:
    squares = float(np.sum(np.square(margins)))
    return MarginResult(a, b, len(margins), float(np.sum(margins)), squares, paired)


def some_league(
    seed: int, players: int = 6, tau: float = 0.4, number: int = 8
) -> list[MarginResult[str]]:
    """Everyone against everyone, with different numbers of units."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=players)
    return [
        units(
            f"p{i}",
            f"p{j}",
            (theta[i] - theta[j] + tau * rng.normal() + rng.normal(size=number + i + j)).tolist(),
        )
        for i in range(players)
        for j in range(i)
    ]


def design(results: Sequence[MarginResult[str]]) -> tuple[list[str], Floats, Floats, Floats]:
    """(players, X [pairs, players], mean margins, numbers of units) as plain matrices."""
    players = sorted({name for one in results for name in (one.a, one.b)})
    x = np.zeros((len(results), len(players)))
    for row, one in enumerate(results):
        x[row, players.index(one.a)], x[row, players.index(one.b)] = 1, -1
    mean = np.array([one.total / one.units for one in results])
    return players, x, mean, np.array([float(one.units) for one in results])


def shrunk(results: Sequence[MarginResult[str]]) -> tuple[Floats, float, float]:
    """(shrunk variances, pooled, weight), pair by pair."""
    freedom = [one.units - 1 for one in results]
    sums = [one.squares - one.total**2 / one.units for one in results]
    pooled = sum(sums) / sum(freedom)
    spread = sum(
        d * (s / d - pooled) ** 2 for d, s in zip(freedom, sums, strict=True) if d
    ) - 2 * pooled**2 * (sum(d > 0 for d in freedom) - 1)
    scale = (
        sum(freedom)
        - sum(d**2 for d in freedom) / sum(freedom)
        + 2 * (sum(d > 0 for d in freedom) - 1)
    )
    v = max(0.0, spread / scale)
    weight = math.inf if v == 0 else 2 * (pooled**2 + v) / v
    if v == 0:
        return np.full(len(results), pooled), pooled, weight
    return (
        np.array(
            [(weight * pooled + s) / (weight + d) for d, s in zip(freedom, sums, strict=True)]
        ),
        pooled,
        weight,
    )


def met_of(results: Sequence[MarginResult[str]]) -> Met:
    players, x, mean, number = design(results)
    squares = np.array([one.squares - one.total**2 / one.units for one in results])
    none = np.zeros(len(number))
    margins = mean_margins(Units(none, none, none), Units(number, mean, squares))
    return Met(x.argmax(1), x.argmin(1), margins, len(players))


def of(ratings: MarginRatings[str], player: str) -> MarginRating[str]:
    (found,) = [one for one in ratings.ratings if one.player == player]
    return found
