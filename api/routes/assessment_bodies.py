"""Answers that assess a population: one alone, and the short form of a list.

They are filled from `arena.assessment.answer.Assessment`.
"""

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel

from api.routes.bodies import PopulationBody
from arena.assessment.answer import Assessment, Conclusion, Health, Level, PbtAction, StrengthUnit


class GainBody(BaseModel):
    """How the strength of a role's members changed, in the mean over them.

    value      the change, in the unit of the assessment
    low, high  an end of the 95 % interval, which holds for all stretches that were looked at
               together
    frames     how many frames of a member's clock it took, up to the newest rated snapshots
    """

    value: float
    low: float
    high: float
    frames: int


class BestBody(BaseModel):
    """The best snapshot, which was chosen among many.

    player  its label, such as `demo/m1@1.2M`
    member  the member that made it
    value   its strength, which flatters where it was chosen among many
    low     with 95 % it is at least this strong, for all candidates at once; null where the games
            give no bound
    high    upper end of its own 95 % interval, where there was no choice; else null
    of      number of candidates that it was chosen among
    """

    player: str
    member: str
    value: float
    low: float | None
    high: float | None
    of: int


class AnchorScoreBody(BaseModel):
    """The score of the best against a player that does not learn.

    player     label of that player, such as `random`
    score      (wins + draws / 2) / games
    low, high  an end of the 95 % interval, which holds for all candidates of the best at once
    games      number of games
    """

    player: str
    score: float
    low: float
    high: float
    games: int


class FindingBody(BaseModel):
    """Something that a reader of the assessment should know.

    kind          a word for programs, such as "failed" or "refused"
    level         how good or bad it is
    text          in words
    member        the member that it is about, null where it is about the population
    since_frames  the clock at which it began, null where that is not known
    """

    kind: str
    level: Level
    text: str
    member: str | None
    since_frames: int | None


class PbtActionBody(BaseModel):
    """What PBT did with a member.

    member  the member
    text    what was done
    why     the reasons of the round, in words
    frames  the member's clock
    time    seconds since 1970
    """

    member: str
    text: str
    why: str
    frames: int
    time: float


class RoleAssessmentBody(BaseModel):
    """The strength of the members of one role.

    role        its name
    best        its best snapshot, null before one has enough games
    gain        how its members' strength changed, null where that cannot be told
    trend       [frames, mean strength of its members], at most 40 points
    flat_since  the clock from which on it gained nothing, where it stalled, or learned and has
                finished; null where it gained up to now, or nothing is sure
    """

    role: str
    best: BestBody | None
    gain: GainBody | None
    trend: list[tuple[int, float]]
    flat_since: int | None


class MemberAssessmentBody(BaseModel):
    """What may be said of one member.

    member                  its name
    role                    that it plays
    state                   "learning", "finished" or "failed"; "paused", "stopped" or "left" where
                            it learns no more; "unknown" before a trainer reported it
    frames                  its clock
    player                  label of its newest rated snapshot, of which value and score are; null
                            before one
    value                   strength of that snapshot, null before it is rated
    low, high               an end of the 95 % interval of the value, null where games give none
    score                   (wins + draws / 2) / games of that snapshot against `score_against`,
                            null without such games
    score_low, score_high   an end of the 95 % interval of the score, null as the score
    score_games             number of games of the score
    score_against           the player that the score is against, "" where none is
    last_pbt                the newest action of PBT, null before one
    trend                   [frames, strength] of its snapshots, at most 40 points
    health                  whether it is well; "refusing": many of its updates are not taken;
                            "behind": it has trained far fewer frames than the others
    health_text             the same for people, with the reason
    updates_taken           optimiser steps that were taken
    updates_refused         optimiser steps that were refused
    """

    member: str
    role: str
    state: str
    frames: int
    player: str | None
    value: float | None
    low: float | None
    high: float | None
    score: float | None
    score_low: float | None
    score_high: float | None
    score_games: int
    score_against: str
    last_pbt: PbtActionBody | None
    trend: list[tuple[int, float]]
    health: Health
    health_text: str
    updates_taken: int
    updates_refused: int


class AssessmentBody(BaseModel):
    """The assessment of a population.

    population       its name
    game             that it plays
    state            what it does, as in the population's status
    frames           the least clock of its members that learn
    goal_frames      at which a member stops, null where that is not known
    progress         the mean share of the goal that members have reached, in [0, 1]; null as the
                     goal
    seconds_left     an estimate, null where none can be made
    conclusion       "too_early": too few games, or too short a training, to say anything;
                     "learning": strength surely rose; "steady": no change is sure, and a change
                     that matters is not ruled out; "stalled": strength surely changed by less than
                     matters; "collapsed": it surely fell, or no member explores any more and none
                     beats random; "none_better": no member is surely better than random; "broken":
                     a member is dead, updates are refused, or the training failed
    sentence         the assessment in words
    brief            of that only what no other field tells, for a place that shows the others
    unit             of strengths: Elo of games won, the margin a game, or the mean return a game
    gain             of the role that the conclusion rests on, null where it cannot be told
    flat_since       of that role, as in `roles`
    best             best snapshot of that role, null before one has enough games
    anchors          scores of the best against players that do not learn
    copies           how often a member took over the weights of another
    mutations        how often hyperparameters were mutated
    updates_taken    optimiser steps of all members that were taken
    updates_refused  optimiser steps of all members that were refused
    findings         what a reader should know, the worst first
    roles            the strength by role
    members          one by one, the strongest first
    """

    population: str
    game: str
    state: str
    frames: int
    goal_frames: int | None
    progress: float | None
    seconds_left: float | None
    conclusion: Conclusion
    sentence: str
    brief: str
    unit: StrengthUnit
    gain: GainBody | None
    flat_since: int | None
    best: BestBody | None
    anchors: list[AnchorScoreBody]
    copies: int
    mutations: int
    updates_taken: int
    updates_refused: int
    findings: list[FindingBody]
    roles: list[RoleAssessmentBody]
    members: list[MemberAssessmentBody]


class PopulationSummaryBody(BaseModel):
    """The short form of an assessment, for a list.

    game          that it plays, "" where it is not known yet
    members       number of its members
    progress      the mean share of the goal that members have reached, in [0, 1]; null where the
                  goal is not known
    seconds_left  an estimate, null where none can be made
    conclusion    as in the assessment; null where it was not made yet, and a later request has it
    sentence      the assessment in words, "" where it was not made yet
    flat_since    as in the assessment
    unit          of strengths, null as the conclusion
    best          the best snapshot, null before one has enough games
    trend         [frames, mean strength of the members], at most 40 points
    last_pbt      the newest action of PBT, null before one
    """

    game: str
    members: int
    progress: float | None
    seconds_left: float | None
    conclusion: Conclusion | None
    sentence: str
    flat_since: int | None
    unit: StrengthUnit | None
    best: BestBody | None
    trend: list[tuple[int, float]]
    last_pbt: PbtActionBody | None


class ListedPopulation(PopulationBody):
    """A population in a list.

    summary  whether it learns, which member is best, what PBT did
    """

    summary: PopulationSummaryBody


def assessment_body(assessment: Assessment) -> dict[str, Any]:
    """The values of an `AssessmentBody`."""
    return asdict(assessment)


def summary_body(assessment: Assessment) -> dict[str, Any]:
    """The values of a `PopulationSummaryBody`."""
    newest: PbtAction | None = max(
        (member.last_pbt for member in assessment.members if member.last_pbt is not None),
        key=lambda action: action.time,
        default=None,
    )
    best = assessment.best
    trend = next((role.trend for role in assessment.roles if role.best == best), ())
    return {
        "game": assessment.game,
        "members": len(assessment.members),
        "progress": assessment.progress,
        "seconds_left": assessment.seconds_left,
        "conclusion": assessment.conclusion,
        "sentence": assessment.sentence,
        "flat_since": assessment.flat_since,
        "unit": assessment.unit,
        "best": None if best is None else asdict(best),
        "trend": trend,
        "last_pbt": None if newest is None else asdict(newest),
    }


def unmade_summary(body: PopulationBody) -> dict[str, Any]:
    """The values of a `PopulationSummaryBody` where no assessment was made yet."""
    unknown = dict.fromkeys(
        ("progress", "seconds_left", "conclusion", "flat_since", "unit", "best", "last_pbt"), None
    )
    return {
        **unknown,
        "game": "",
        "members": len(body.status.members),
        "sentence": "",
        "trend": (),
    }
