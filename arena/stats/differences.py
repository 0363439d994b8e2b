"""How much results changed between two moments, and which changes are sure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, ndtri, stdtr, stdtrit

from arena.stats.group_results import GroupResult
from arena.stats.intervals import wilson_interval

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class ResultChange:
    """The change of what one group got of another.

    before      the earlier result
    after       the later one, of the same groups
    difference  later value minus earlier value
    low         lower end of the difference's 95 % interval; None where nothing says how much the
                values vary
    high        upper end of the interval, None as `low`
    sure        whether there is a change, by a test that is strict enough for all pairs together:
                the chance that even one is called sure although there is none is below 5 %
    """

    before: GroupResult
    after: GroupResult
    difference: float
    low: float | None
    high: float | None
    sure: bool


def changes(pairs: Sequence[tuple[GroupResult, GroupResult]]) -> list[ResultChange]:
    """The changes of (earlier, later) results, whose games are different ones.

    Which are sure say Fisher's exact test of scores and Welch's test of means, with Bonferroni's
    correction for all of them. Intervals are of each change alone.
    """
    found = []
    for before, after in pairs:
        difference = after.value - before.value
        low, high = difference_interval(before, after) or (None, None)
        apart = low is not None and high is not None and not low <= 0.0 <= high
        sure = apart and chance(before, after) * len(pairs) < LEVEL
        found.append(ResultChange(before, after, difference, low, high, sure))
    return found


def difference_interval(before: GroupResult, after: GroupResult) -> tuple[float, float] | None:
    """(low, high), 95 %, of `after` minus `before`; None where a mean has no error.

    Scores: Newcombe's hybrid of two Wilson intervals (1998, method 10). Means: Welch's t.
    """
    difference = after.value - before.value
    if _is_score(before):
        z = float(ndtri(1 - LEVEL / 2))
        (low, high), (later_low, later_high) = (
            wilson_interval(one.value, one.games, z) for one in (before, after)
        )
        below = math.hypot(after.value - later_low, high - before.value)
        above = math.hypot(later_high - after.value, before.value - low)
        return difference - below, difference + above
    known = _welch(before, after)
    if known is None:
        return None
    error, freedom = known
    half = float(stdtrit(freedom, 1 - LEVEL / 2)) * error
    return difference - half, difference + half


def chance(before: GroupResult, after: GroupResult) -> float:
    """The chance of at least such a difference, in either direction, if nothing changed.

    1 where a mean has no error. A drawn game counts as half a win; the points of a moment are
    rounded towards those of the other one, since results with draws vary less than those without.
    """
    if not _is_score(before):
        known = _welch(before, after)
        if known is None:
            return 1.0
        return 2 * float(stdtr(known[1], -abs(after.value - before.value) / known[0]))
    more, less = (after, before) if after.value > before.value else (before, after)
    won = (math.floor(more.value * more.games + 1e-9), math.ceil(less.value * less.games - 1e-9))
    return min(1.0, 2 * _fisher(won[0], more.games, won[1], less.games))


def _is_score(one: GroupResult) -> bool:
    """Whether a value is a score; a mean has an error, or no interval."""
    return one.error is None and one.low is not None


def _welch(before: GroupResult, after: GroupResult) -> tuple[float, float] | None:
    """(standard error, degrees of freedom) of a difference of means, None where one has none."""
    if before.error is None or after.error is None:
        return None
    parts = (before.error**2, after.error**2)
    spread = sum(part**2 / one.freedom for part, one in zip(parts, (before, after), strict=True))
    return math.sqrt(sum(parts)), sum(parts) ** 2 / spread


def _fisher(won: int, games: int, other_won: int, other_games: int) -> float:
    """The chance of `won` or more of `games` wins, if all the wins are spread by chance alone."""
    wins, both = won + other_won, games + other_games
    mine = np.arange(won, min(wins, games) + 1)
    logs = (
        _log_choose(games, mine)
        + _log_choose(other_games, wins - mine)
        - _log_choose(both, np.array([wins]))
    )
    return float(np.exp(logs).sum())


def _log_choose(number: int, taken: np.ndarray) -> np.ndarray:
    left = number - taken
    found: np.ndarray = gammaln(number + 1) - gammaln(taken + 1) - gammaln(left + 1)
    return found
