"""The sentence of an assessment, and the finding of each role. Pure."""

from collections.abc import Sequence

from arena.assessment.answer import (
    Assessment,
    Conclusion,
    Level,
    PopulationFinding,
    StrengthUnit,
)
from arena.assessment.conclude import RoleConclusion
from arena.assessment.records import StrengthHistory
from arena.assessment.words import best_text, change_text, count_text, stretch_text, time_text
from arena.league.frames import frames_text
from arena.stats.bradley_terry import BEST_MIN_GAMES

LEVELS: dict[Conclusion, Level] = {
    "learning": "good",
    "steady": "info",
    "stalled": "warn",
    "collapsed": "bad",
    "none_better": "warn",
    "too_early": "info",
}


def sentence(
    made: Assessment,
    found: Sequence[RoleConclusion],
    faults: Sequence[PopulationFinding],
    strengths: StrengthHistory | None,
) -> str:
    """The assessment in words: faults, the conclusion, the best, what PBT did, and the time left.

    made  its conclusion is that of the strengths, whatever the faults
    """
    parts = []
    if faults:
        more = f", and {count_text(len(faults) - 1, 'more fault', 'more faults')}"
        parts.append(f"broken: {faults[0].text}{more if len(faults) > 1 else ''}")
    if made.state in ("finished", "failed", "stopped", "paused", "interrupted"):
        parts.append(made.state) if not (faults and made.state == "failed") else None
    parts.append(_strength(made, found, strengths))
    parts += [
        (f"{one.said.role}: " if len(found) > 1 else "") + best_text(one.said.best, (), made.unit)
        for one in found
        if one.said.best is not None and (len(found) > 1 or not made.anchors)
    ]
    if len(found) == 1 and made.best is not None and made.anchors:
        parts.append(best_text(made.best, made.anchors, made.unit))
    parts.append(_pbt(made))
    if made.updates_refused:
        updates = made.updates_taken + made.updates_refused
        parts.append(f"{made.updates_refused:,} of {updates:,} updates refused")
    if made.seconds_left is not None:
        parts.append(f"{time_text(made.seconds_left)} left")
    return "; ".join(part for part in parts if part)


def _pbt(made: Assessment) -> str:
    """What PBT did so far; "" where it changed nothing yet."""
    parts = [count_text(made.copies, "copy", "copies")] if made.copies else []
    if made.mutations:
        parts.append(count_text(made.mutations, "mutation", "mutations"))
    return ", ".join(parts)


def _strength(
    made: Assessment, found: Sequence[RoleConclusion], strengths: StrengthHistory | None
) -> str:
    """What the strengths show, in words."""
    if made.conclusion == "too_early":
        return f"too early to say{_missing(made, strengths)}"
    if made.conclusion == "collapsed" and all(one.conclusion != "collapsed" for one in found):
        return "collapsed: no member explores any more, and none is surely better than random"
    ended = made.state == "finished"
    if len(found) == 1:
        return role_words(found[0], made.unit, ended=ended)
    return ", ".join(f"{one.said.role} {role_words(one, made.unit, ended=ended)}" for one in found)


def role_words(one: RoleConclusion, unit: StrengthUnit, *, ended: bool) -> str:
    """`learning: +180 ± 40 Elo in the last 100k frames`, and the like for other conclusions."""
    gain = one.said.gain
    change = "" if gain is None else f"{change_text(gain, unit)} {stretch_text(gain)}"
    if one.conclusion == "none_better":
        return "no member is surely better than random"
    if one.conclusion == "too_early" or gain is None:
        return "too early to say"
    if one.conclusion == "stalled":
        return f"stalled since {frames_text(one.since or 0)} frames: {change}"
    if one.conclusion == "steady":
        return f"no sure change: {change}"
    if one.conclusion == "learning":
        return f"{'learned' if ended else 'learning'}: {change}"
    return f"collapsed: {change}"


def role_finding(
    one: RoleConclusion, unit: StrengthUnit, *, several: bool, ended: bool
) -> PopulationFinding:
    """What the strength of a role shows, as a finding."""
    words = role_words(one, unit, ended=ended)
    text = f"{one.said.role}: {words}" if several else words
    return PopulationFinding(one.conclusion, LEVELS[one.conclusion], text, None, one.since)


def _missing(made: Assessment, strengths: StrengthHistory | None) -> str:
    """What is missing for a conclusion, as a clause; "" where only time is."""
    if strengths is None:
        return ": the results cannot be read now"
    if not strengths.games:
        return ": no evaluation game was played yet"
    if made.best is None:
        games = count_text(strengths.games, "evaluation game", "evaluation games")
        return f": {games} so far, and no snapshot has {BEST_MIN_GAMES}"
    if made.gain is None:
        return ": no member has two rated snapshots yet"
    change = f"{change_text(made.gain, made.unit)} {stretch_text(made.gain)}"
    return f": {change} is not sure"
