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

ENDED = ("finished", "failed", "stopped", "paused", "interrupted")
TOO_EARLY = "too early to say"
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
    parts = [_faults(faults)]
    if made.state in ENDED and not (faults and made.state == "failed"):
        parts.append(made.state)
    parts.append(_strength(made, found, strengths))
    for one in found:
        if one.said.best is not None:
            anchors = made.anchors if one.said.best == made.best else ()
            role = f"{one.said.role}: " if len(found) > 1 else ""
            over = strengths is not None and strengths.anchored
            parts.append(role + best_text(one.said.best, anchors, made.unit, anchored=over))
    parts.append(_pbt(made))
    if made.updates_refused:
        updates = made.updates_taken + made.updates_refused
        parts.append(f"{made.updates_refused:,} of {updates:,} updates refused")
    parts.append(_left(made))
    return "; ".join(part for part in parts if part)


def brief(
    made: Assessment, found: Sequence[RoleConclusion], strengths: StrengthHistory | None
) -> str:
    """Of the sentence, what no other field tells: what is missing, since when, the time left.

    made  as for `sentence`
    """
    parts = []
    if made.conclusion == "too_early":
        parts.append(_strength(made, found, strengths))
    elif len(found) == 1:
        parts.append(_since(found[0]))
    else:
        parts.append(", ".join(f"{one.said.role} {_since(one)}" for one in found if _since(one)))
    parts.append(_left(made))
    return "; ".join(part for part in parts if part)


def _left(made: Assessment) -> str:
    """The time left; "" where none can be told."""
    return "" if made.seconds_left is None else f"{time_text(made.seconds_left)} left"


def _since(one: RoleConclusion) -> str:
    """Since when a role gains nothing; "" where it gains, or that cannot be told."""
    if one.said.flat_since is None:
        return ""
    since = "stalled" if one.conclusion == "stalled" else "no longer growing"
    return f"{since} since {frames_text(one.said.flat_since)} frames"


def _faults(faults: Sequence[PopulationFinding]) -> str:
    """The worst fault, and how many there are beside it; "" without any."""
    if not faults:
        return ""
    more = f", and {count_text(len(faults) - 1, 'fault', 'faults')} more" if faults[1:] else ""
    return f"broken: {faults[0].text}{more}"


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
    ended = made.state == "finished"
    if made.conclusion == "too_early":
        early = "too few games to say what was learned" if ended else TOO_EARLY
        return f"{early}{_missing(made, strengths)}"
    if made.conclusion == "collapsed" and all(one.conclusion != "collapsed" for one in found):
        return "collapsed: no member explores any more, and none is surely better than random"
    words = [role_words(one, made.unit, ended=ended) for one in found]
    if len(set(words)) == 1:
        return words[0]
    roles = (one.said.role for one in found)
    return ", ".join(f"{role} {said}" for role, said in zip(roles, words, strict=True))


def role_words(one: RoleConclusion, unit: StrengthUnit, *, ended: bool) -> str:
    """`learning: +180 ± 40 Elo in the last 100k frames`, and the like for other conclusions."""
    gain = one.said.gain
    change = "" if gain is None else f"{change_text(gain, unit)} {stretch_text(gain)}"
    if one.conclusion == "none_better":
        return "no member is surely better than random"
    if one.conclusion == "too_early" or gain is None:
        return TOO_EARLY
    if one.conclusion == "stalled":
        return f"{_since(one)}: {change}"
    if one.conclusion == "steady":
        return f"no sure change: {change}"
    if one.conclusion == "learning":
        flat = f", {_since(one)}" if _since(one) else ""
        return f"{'learned' if ended else 'learning'}: {change}{flat}"
    return f"collapsed: {change}"


def role_finding(
    one: RoleConclusion, unit: StrengthUnit, *, several: bool, ended: bool
) -> PopulationFinding:
    """What the strength of a role shows, as a finding."""
    words = role_words(one, unit, ended=ended)
    text = f"{one.said.role}: {words}" if several else words
    flat = one.conclusion == "learning" and one.said.flat_since is not None
    level = "info" if flat else LEVELS[one.conclusion]
    return PopulationFinding(one.conclusion, level, text, None, one.since)


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
        return ": no member has two rated snapshots"
    change = f"{change_text(made.gain, made.unit)} {stretch_text(made.gain)}"
    return f": {change} is not sure"
