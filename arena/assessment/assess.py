"""The assessment of a population, as a pure function of its history."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from arena.assessment.answer import (
    Assessment,
    Conclusion,
    MemberAssessment,
    PopulationFinding,
    RoleAssessment,
    StrengthUnit,
)
from arena.assessment.conclude import (
    EARLY_SHARE,
    TREND_POINTS,
    RoleConclusion,
    Stage,
    conclude,
)
from arena.assessment.health import explores_no_more, faults_of, health_of, notes_on
from arena.assessment.records import MemberFacts, PopulationHistory, RatedSnapshot
from arena.assessment.sentence import brief, role_finding, sentence

FIRST: Sequence[Conclusion] = (
    "collapsed",
    "learning",
    "steady",
    "stalled",
    "none_better",
    "too_early",
)
"""Where roles differ, the first of these stands for the population."""
WITHOUT_SUCCESS = ("too_early", "steady", "stalled", "none_better")
AT_WORK = ("running", "recovering")


def assess(history: PopulationHistory) -> Assessment:
    """What may be said of a population."""
    strengths, progress = history.strengths, _progress(history)
    ended = history.state == "finished"
    stage = Stage(early=not ended and (progress or 0.0) < EARLY_SHARE, ended=ended)
    roles = () if strengths is None else strengths.roles
    found = [] if strengths is None else [conclude(role, strengths, stage) for role in roles]
    unit: StrengthUnit = "elo" if strengths is None else strengths.unit
    at = min(range(len(found)), key=lambda one: FIRST.index(found[one].conclusion), default=None)
    conclusion: Conclusion = "too_early" if at is None else found[at].conclusion
    if conclusion in WITHOUT_SUCCESS and _entropy_gone(history) and not _proven(history):
        conclusion = "collapsed"
    said = RoleAssessment("", None, None, ()) if at is None else found[at].said
    faults = faults_of(history)
    made = Assessment(
        population=history.population,
        game=history.game,
        state=history.state,
        frames=_least_clock(history.members),
        goal_frames=history.goal_frames,
        progress=progress,
        seconds_left=_seconds_left(history),
        conclusion=conclusion,
        sentence="",
        brief="",
        unit=unit,
        gain=said.gain,
        flat_since=said.flat_since,
        best=said.best,
        anchors=() if at is None else roles[at].anchors,
        copies=history.copies,
        mutations=history.mutations,
        updates_taken=sum(one.updates for one in history.members),
        updates_refused=sum(one.refused for one in history.members),
        findings=(*faults, *_of_strength(found, unit, ended=ended), *notes_on(history)),
        roles=tuple(one.said for one in found) or _unrated_roles(history),
        members=_members(history),
    )
    words, few = sentence(made, found, faults, strengths), brief(made, found, strengths)
    return replace(made, conclusion="broken" if faults else conclusion, sentence=words, brief=few)


def _least_clock(members: Sequence[MemberFacts]) -> int:
    """The least clock of the members that learn; of all where none does."""
    learning = [one.frames for one in members if one.state == "learning"]
    return min(learning or [one.frames for one in members], default=0)


def _progress(history: PopulationHistory) -> float | None:
    """The mean share of the goal, over the members that did not leave."""
    goal = history.goal_frames
    own = [one.frames for one in history.members if one.state != "left"]
    if not goal or not own:
        return None
    return fmean(min(1.0, frames / goal) for frames in own)


def _seconds_left(history: PopulationHistory) -> float | None:
    """Until the slowest member reaches its goal; None where no training runs."""
    if history.state not in AT_WORK or history.goal_frames is None:
        return None
    left = [
        (history.goal_frames - one.frames) / one.frames_per_s
        for one in history.members
        if one.state == "learning" and one.frames_per_s
    ]
    return max(0.0, *left) if left else None


def _entropy_gone(history: PopulationHistory) -> bool:
    """Whether no member explores any more."""
    own = [one for one in history.members if one.state not in ("left", "failed", "unknown")]
    return bool(own) and all(explores_no_more(one) for one in own)


def _proven(history: PopulationHistory) -> bool:
    """Whether a best player is surely better than `random`, or was ever surely better than before.

    Where `random` has no strength in the unit, only the second is known.
    """
    strengths = history.strengths
    if strengths is None or not strengths.anchored:
        return False
    lows = [None if role.best is None else role.best.low for role in strengths.roles]
    return any(low is not None and low > 0 for low in lows)


def _of_strength(
    found: Sequence[RoleConclusion], unit: StrengthUnit, *, ended: bool
) -> list[PopulationFinding]:
    """A finding for each role, with its name where there are several."""
    several = len(found) > 1
    return [role_finding(one, unit, several=several, ended=ended) for one in found]


def _unrated_roles(history: PopulationHistory) -> tuple[RoleAssessment, ...]:
    names = dict.fromkeys(one.role for one in history.members)
    return tuple(RoleAssessment(name, None, None, ()) for name in names)


# --- the members ----------------------------------------------------------------------------------


def _members(history: PopulationHistory) -> tuple[MemberAssessment, ...]:
    """The members, the strongest first; those without a rating last, in their order."""
    of: dict[str, list[RatedSnapshot]] = {}
    for role in () if history.strengths is None else history.strengths.roles:
        for one in role.snapshots:
            of.setdefault(one.member, []).append(one)
    made = [_member(one, history, of.get(one.member, [])) for one in history.members]
    return tuple(sorted(made, key=lambda one: (one.value is None, -(one.value or 0.0))))


def _member(
    facts: MemberFacts, history: PopulationHistory, rated: Sequence[RatedSnapshot]
) -> MemberAssessment:
    own = sorted(rated, key=lambda one: one.frames)
    newest = next((one for one in reversed(own) if one.low is not None), own[-1] if own else None)
    score = newest.scores[0] if newest is not None and newest.scores else None
    health, text = health_of(facts, history)
    return MemberAssessment(
        member=facts.member,
        role=facts.role,
        state=facts.state,
        frames=facts.frames,
        player=None if newest is None else newest.player,
        value=None if newest is None else newest.value,
        low=None if newest is None else newest.low,
        high=None if newest is None else newest.high,
        score=None if score is None else score.score,
        score_low=None if score is None else score.low,
        score_high=None if score is None else score.high,
        score_games=0 if score is None else score.games,
        score_against="" if score is None else score.player,
        last_pbt=facts.last_pbt,
        trend=_spread([(one.frames, round(one.value, 4)) for one in own]),
        health=health,
        health_text=text,
        updates_taken=facts.updates,
        updates_refused=facts.refused,
    )


def _spread(points: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """At most TREND_POINTS of the points, with the first and the last."""
    number = len(points)
    if number <= TREND_POINTS:
        return tuple(points)
    kept = (round(at * (number - 1) / (TREND_POINTS - 1)) for at in range(TREND_POINTS))
    return tuple(points[at] for at in kept)
