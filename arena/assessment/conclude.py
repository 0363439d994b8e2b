"""From strengths to a conclusion: is a role learning, stalled, collapsed? Pure."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arena.assessment.answer import Conclusion, Gain, Point, RoleAssessment
from arena.assessment.records import RoleHistory, StrengthHistory
from arena.stats.bradley_terry import NORMAL_975
from arena.stats.changes import LevelChanges

RECENT_SHARE = 0.5
"""A gain counts as learning if it came within this newest share of the training."""
STALLED_SHARE = 0.25
"""A training is stalled only if it gained nothing for at least this share of its frames."""
CLEAR = 1.5
"""The newest gain that is this many times as large as it has to be is told before older ones."""
PACE_SHARE = 0.25
"""A gain below this part of what the earlier pace would have brought is none."""
STALLED = 2.0
"""Times a change that matters: a gain below it is none, however long it took, and a fall below it
is no collapse.
"""
CLEARLY = 4.0
"""Times a change that matters: a difference that games show soon where there is one."""
EARLY_SHARE = 0.25
"""Before this share of its goal a population may be too young for a conclusion."""
TREND_POINTS = 40


@dataclass(frozen=True, slots=True)
class Stage:
    """How far a training is.

    early  it has trained less than EARLY_SHARE of its goal
    ended  it reached its goal, so that all of its frames count and not only the newest
    """

    early: bool
    ended: bool


@dataclass(frozen=True, slots=True)
class RoleConclusion:
    """What the strengths of one role show.

    said        its strength, for the answer
    conclusion  what its strength shows
    since       the clock from which on that holds, in frames; None where no change can be told
    """

    said: RoleAssessment
    conclusion: Conclusion
    since: int | None


def conclude(role: RoleHistory, history: StrengthHistory, stage: Stage) -> RoleConclusion:
    """What the strengths of a role show."""
    changes = role.changes
    trend = _trend(role, changes)
    if changes is None:
        conclusion: Conclusion = "too_early"
        if not stage.early and _unproven(role, history) and _measured(role, history):
            conclusion = "none_better"
        return RoleConclusion(RoleAssessment(role.role, role.best, None, trend), conclusion, None)
    conclusion, at = _shown(changes, role, history, stage)
    gain = Gain(
        float(changes.values[at]),
        float(changes.lows[at]),
        float(changes.highs[at]),
        round(changes.frames[at]),
    )
    flat = _flat(changes, history.small)
    told = conclusion == "stalled" or (conclusion == "learning" and stage.ended)
    since = round(changes.centres[flat[0]]) if told and len(flat) else None
    said = RoleAssessment(role.role, role.best, gain, trend, since)
    return RoleConclusion(said, conclusion, round(changes.centres[at]))


def _shown(
    changes: LevelChanges, role: RoleHistory, history: StrengthHistory, stage: Stage
) -> tuple[Conclusion, int]:
    """(the conclusion, index of the change that shows it)."""
    lows, highs, clock = changes.lows, changes.highs, changes.centres[-1]
    recent = (changes.frames <= RECENT_SHARE * clock) | (len(lows) <= 2)
    fell = np.flatnonzero(highs < -STALLED * history.small)
    rose = np.flatnonzero((lows > 0) & recent)
    if stage.ended:
        rose = np.flatnonzero(lows[:1] > 0) if not len(fell) else rose[:0]
    if len(rose):
        clear = [at for at in rose if changes.values[at] > CLEAR * (changes.values[at] - lows[at])]
        return "learning", int(clear[-1] if clear else rose[-1])
    if len(fell):
        return "collapsed", int(fell[np.argmin(highs[fell])])
    middle = int(np.flatnonzero(recent)[0]) if recent.any() else len(lows) - 1
    if _unproven(role, history):
        if _measured(role, history) or not stage.early:
            return "none_better", middle
        return "too_early", middle
    flat = _flat(changes, history.small)
    if len(flat):
        return "stalled", int(flat[0])
    wide = highs[middle] - changes.values[middle] > CLEARLY * history.small
    return ("too_early" if role.best is None or (wide and stage.early) else "steady"), middle


def _flat(changes: LevelChanges, small: float) -> NDArray[np.intp]:
    """Indices of the stretches since which surely nothing was gained, for long enough to matter."""
    none = (changes.lows <= 0) & (changes.highs < _none(changes, small))
    return np.flatnonzero(none & (changes.frames >= STALLED_SHARE * changes.centres[-1]))


def _none(changes: LevelChanges, small: float) -> NDArray[np.float64]:
    """[w] the gain since each earlier stretch that counts as none.

    It is STALLED times a change that matters, or the part PACE_SHARE of what the pace before would
    have brought, which surely was at least (low of all - high since) / frames before.
    """
    before = changes.frames[0] - changes.frames
    gained = np.maximum(0.0, changes.lows[0] - changes.highs)
    pace = gained / np.where(before > 0, before, np.inf)
    none: NDArray[np.float64] = np.maximum(STALLED * small, PACE_SHARE * pace * changes.frames)
    return none


def _unproven(role: RoleHistory, history: StrengthHistory) -> bool:
    """Whether a best snapshot is there, and not surely better than `random`."""
    best = role.best
    return history.anchored and best is not None and (best.low is None or best.low <= 0)


def _measured(role: RoleHistory, history: StrengthHistory) -> bool:
    """Whether the members' newest snapshots are measured so well that a clear lead would show."""
    newest = newest_of_members(role)
    if not newest:
        return False
    share = np.zeros(len(role.snapshots))
    share[newest] = 1 / len(newest)
    error = float(np.sqrt(share @ role.covariance @ share))
    return NORMAL_975 * error <= CLEARLY * history.small


def newest_of_members(role: RoleHistory) -> list[int]:
    """The index of the newest rated snapshot of each member."""
    newest: dict[str, int] = {}
    for at, one in enumerate(role.snapshots):
        if one.member not in newest or one.frames >= role.snapshots[newest[one.member]].frames:
            newest[one.member] = at
    return list(newest.values())


def _trend(role: RoleHistory, changes: LevelChanges | None) -> tuple[Point, ...]:
    """The mean strength of the members over frames."""
    if changes is not None:
        return tuple(
            (round(frames), round(float(level), 4))
            for frames, level in zip(changes.centres, changes.levels, strict=True)
        )
    ordered = sorted((one.frames, one.value) for one in role.snapshots)
    parts = [
        ordered[at * len(ordered) // TREND_POINTS : (at + 1) * len(ordered) // TREND_POINTS]
        for at in range(TREND_POINTS)
    ]
    return tuple(
        (round(np.mean([one[0] for one in part])), round(float(np.mean([o[1] for o in part])), 4))
        for part in parts
        if part
    )
