"""A slow twin of `arena.stats.group_results`: it goes through the games one by one."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from arena.stats.intervals import wilson_interval


@dataclass(frozen=True)
class Seen:
    """A game as one of its two players saw it.

    points  1, 0.5 or 0
    got     margin or return
    """

    player: str
    opponent: str
    points: float
    got: float


def slow_groups(
    games: Sequence[Seen], row_of: Callable[[Seen], object], column_of: Callable[[Seen], object]
) -> dict[tuple[object, object], list[Seen]]:
    """(row, column) -> the games of the two; None leaves a game out."""
    found = defaultdict(list)
    for game in games:
        row, column = row_of(game), column_of(game)
        if row is not None and column is not None:
            found[row, column].append(game)
    return dict(found)


def slow_score(games: Sequence[Seen]) -> tuple[int, float, float, float]:
    """(games, score, low, high)."""
    score = sum(game.points for game in games) / len(games)
    return (len(games), score, *wilson_interval(score, len(games)))


def slow_mean(games: Sequence[Seen]) -> tuple[int, float, float, float]:
    """(games, mean of what was got, low, high), by Student's t over games."""
    values = np.array([game.got for game in games])
    half = float(t.ppf(0.975, len(values) - 1)) * values.std(ddof=1) / len(values) ** 0.5
    return len(values), values.mean(), values.mean() - half, values.mean() + half
