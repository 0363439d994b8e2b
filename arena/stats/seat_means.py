"""Means of what seats got (returns, places), by player, with intervals over blocks of games.

The games of a block share seed and players, so a block is the unit of evidence. What a player got
in a game is the mean over its seats, and in a block the mean over its games there.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np

from arena.stats.bradley_terry import P
from arena.stats.intervals import mean_interval


@dataclass(frozen=True, slots=True)
class SeatValues(Generic[P]):
    """What the seats of one game got.

    players  by seat; a player may hold several
    values   [seats]
    block    number of the block of games
    """

    players: tuple[P, ...]
    values: tuple[float, ...]
    block: int


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over blocks with its 95 % interval, by Student's t.

    value  the mean
    low    lower end of the interval; None for one block, or where all blocks are alike
    high   upper end of the interval, None as `low`
    """

    value: float
    low: float | None
    high: float | None

    @property
    def sign(self) -> int:
        """1 where the interval lies above 0, -1 below, 0 where it holds 0 or there is none."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0) - int(self.high < 0)


def block_means(games: Sequence[SeatValues[P]]) -> dict[P, dict[int, float]]:
    """Player -> block -> the mean of what it got there. Blocks in which it never sat are left out.

    players come in the order in which they first sat.
    """
    got: dict[P, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for game in games:
        own: dict[P, list[float]] = defaultdict(list)
        for player, value in zip(game.players, game.values, strict=True):
            own[player].append(value)
        for player, values in own.items():
            got[player][game.block].append(float(np.mean(values)))
    return {
        player: {block: float(np.mean(values)) for block, values in blocks.items()}
        for player, blocks in got.items()
    }


def mean_of(blocks: Mapping[int, float]) -> Mean:
    """The mean over blocks. blocks: block -> value, at least one."""
    values = list(blocks.values())
    low, high = mean_interval(values) or (None, None)
    return Mean(float(np.mean(values)), low, high)


def lead(own: Mapping[int, float], other: Mapping[int, float]) -> Mean | None:
    """How much more one player got than another, over the blocks in which both sat; None: none."""
    common = {block: value - other[block] for block, value in own.items() if block in other}
    return mean_of(common) if common else None


def averaged(parts: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Block -> the mean of these values, over the blocks that all of them have."""
    common = set(parts[0]).intersection(*parts)
    return {block: float(np.mean([part[block] for part in parts])) for block in sorted(common)}
