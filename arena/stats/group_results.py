"""Results of groups of players, such as the newest snapshots of a member, from those of players.

A group has the games of all its players. Its interval is that of one player with as many games: the
true scores of its players may differ, and a mixture of scores varies no more than their mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arena.stats.intervals import spread_interval, wilson_interval
from arena.stats.margin_cycles import PairMargin, pair_margins
from arena.stats.margin_units import KINDS, MarginResult
from arena.stats.score import Tally
from pbt.objective import ObjectiveKind

Numbers = NDArray[np.intp]
Counts = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairResults:
    """What one got of another, n times. Both are players, or groups of players.

    first     [n] numbers of the ones
    second    [n] numbers of the others
    outcomes  [n, 3] games that `first` won, drew and lost; zeros where returns count
    units     [n, 2, 3] number, sum and sum of squares of what `first` got in its seed pairs, then
              in its single games: margins as in `arena.stats.margin_units`, or returns
    """

    first: Numbers
    second: Numbers
    outcomes: Counts
    units: Counts

    def __len__(self) -> int:
        return len(self.first)

    def both_sides(self) -> "PairResults":
        """These results, then the same from the side of `second`."""
        turned = self.units * np.array([1.0, -1.0, 1.0])
        return PairResults(
            np.concatenate([self.first, self.second]),
            np.concatenate([self.second, self.first]),
            np.concatenate([self.outcomes, self.outcomes[:, ::-1]]),
            np.concatenate([self.units, turned]),
        )


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What one group got of another, in what the objective counts.

    row      number of the one group
    column   number of the other one
    games    games of the two
    tally    the games by result, None where returns count
    value    score, mean margin of a game, or mean return of a game
    low      lower end of the value's 95 % interval; None where nothing says how much it varies
    high     upper end of the interval, None as `low`
    error    standard error of a mean; None of a score, and where `low` is None
    freedom  degrees of freedom of the error, 0 without one
    """

    row: int
    column: int
    games: int
    tally: Tally | None
    value: float
    low: float | None
    high: float | None
    error: float | None = None
    freedom: float = 0.0


def grouped(pairs: PairResults, rows: Numbers, columns: Numbers) -> PairResults:
    """The results of every two groups that met, once, by row and then by column.

    rows     [n] number of the group of `first` in each result; -1 leaves the result out
    columns  [n] number of the group of `second`, -1 as in `rows`
    """
    kept = (rows >= 0) & (columns >= 0)
    above, row = np.unique(rows[kept], return_inverse=True)
    beside, column = np.unique(columns[kept], return_inverse=True)
    keys, places = np.unique(row * len(beside) + column, return_inverse=True)
    outcomes, units = np.zeros((len(keys), 3)), np.zeros((len(keys), KINDS, 3))
    np.add.at(outcomes, places, pairs.outcomes[kept])
    np.add.at(units, places, pairs.units[kept])
    width = max(1, len(beside))
    return PairResults(above[keys // width], beside[keys % width], outcomes, units)


def group_results(groups: PairResults, objective: ObjectiveKind) -> list[GroupResult]:
    """The results as values with intervals, in the order given. Every two groups stand once."""
    if objective == "return":
        return list(_returns(groups))
    tallies = [Tally(*(int(count) for count in counts)) for counts in groups.outcomes]
    ends = zip(groups.first.tolist(), groups.second.tolist(), tallies, strict=True)
    if objective == "margin":
        margins = group_margins(groups)
        return [
            _by_margin(row, column, tally, margin)
            for (row, column, tally), margin in zip(ends, margins, strict=True)
        ]
    return [_by_score(row, column, tally) for row, column, tally in ends]


def group_margins(groups: PairResults) -> list[PairMargin[int]]:
    """The margins of every two groups, in the order given. Every two groups stand once."""
    return pair_margins(
        [
            MarginResult(row, column, int(number), total, squares, paired=kind == 0)
            for row, column, kinds in zip(
                groups.first.tolist(), groups.second.tolist(), groups.units.tolist(), strict=True
            )
            for kind, (number, total, squares) in enumerate(kinds)
            if number
        ]
    )


def _by_score(row: int, column: int, tally: Tally) -> GroupResult:
    ends = wilson_interval(tally.score, tally.games)
    return GroupResult(row, column, tally.games, tally, tally.score, *ends)


def _by_margin(row: int, column: int, tally: Tally, margin: PairMargin[int]) -> GroupResult:
    known = (margin.error, margin.freedom) if margin.error else (None, 0.0)
    ends = (margin.low, margin.high)
    return GroupResult(row, column, tally.games, tally, margin.mean, *ends, *known)


def _returns(groups: PairResults) -> Iterator[GroupResult]:
    sums = groups.units.sum(axis=1)
    for row, column, (number, total, squares) in zip(
        groups.first.tolist(), groups.second.tolist(), sums.tolist(), strict=True
    ):
        mean = total / number
        # A difference of two large sums below their rounding is 0.
        spread = squares - total * mean
        spread = spread if spread > 1e-12 * squares else 0.0
        ends = spread_interval(int(number), mean, spread)
        if ends is None:
            yield GroupResult(row, column, int(number), None, mean, None, None)
        else:
            error = float(np.sqrt(spread / (number - 1) / number))
            yield GroupResult(row, column, int(number), None, mean, *ends, error, number - 1)
