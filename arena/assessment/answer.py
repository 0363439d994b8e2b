"""The assessment of a population: plain records, which terminal, service and report show."""

from dataclasses import dataclass
from typing import Literal

Conclusion = Literal[
    "too_early", "learning", "steady", "stalled", "collapsed", "none_better", "broken"
]
"""The conclusions.

"too_early"    too few games, or too short a training, to say anything
"learning"     the members' strength surely rose in the frames before now
"steady"       no change is sure, and a change that matters is not ruled out
"stalled"      strength surely changed by less than what matters
"collapsed"    strength surely fell, or no member explores any more and none beats random
"none_better"  no member is surely better than random
"broken"       a member is dead, updates are refused, or the training failed
"""
StrengthUnit = Literal["elo", "margin", "return"]
"""Elo of games won, the margin a game, or the mean return a game."""
Level = Literal["good", "info", "warn", "bad"]
Health = Literal["ok", "refusing", "dead", "behind", "unknown"]
"""The health of a member.

"ok"        nothing is wrong with it
"refusing"  many of its updates were refused, because a loss or a gradient was not finite
"dead"      it failed, and learns no more
"behind"    it has trained far fewer frames than the other members
"unknown"   no trainer has reported it yet
"""
Point = tuple[int, float]
"""(frames, strength)."""


@dataclass(frozen=True, slots=True)
class Gain:
    """How the strength of a role's members changed, in the mean over them, with what is sure of it.

    value   the change, in the unit of the assessment
    low     lower end of the 95 % interval; it holds for all stretches that were looked at together
    high    upper end of that interval
    frames  how many frames of a member's clock the change took, up to the newest rated snapshots
    """

    value: float
    low: float
    high: float
    frames: int


@dataclass(frozen=True, slots=True)
class BestPlayer:
    """The best snapshot, which was chosen among many.

    player  its label, such as `demo/m1@1.2M`
    member  the member that made it
    value   its strength, which flatters where it was chosen among many
    low     with 95 % it is at least this strong, for all candidates at once; None where the games
            give no bound
    high    upper end of its own 95 % interval, where there was no choice; else None
    of      number of candidates that it was chosen among
    """

    player: str
    member: str
    value: float
    low: float | None
    high: float | None
    of: int


@dataclass(frozen=True, slots=True)
class AnchorScore:
    """The score of the best against a player that does not learn.

    player  label of that player, such as `random`
    score   (wins + draws / 2) / games
    low     lower end of the 95 % interval; it holds for all candidates of the best at once
    high    upper end of that interval
    games   number of games
    """

    player: str
    score: float
    low: float
    high: float
    games: int


@dataclass(frozen=True, slots=True)
class PopulationFinding:
    """Something that a reader of the assessment should know.

    kind          a word for programs, such as "failed" or "refused"
    level         how good or bad it is
    text          in words
    member        the member that it is about; None where it is about the population
    since_frames  the clock at which it began; None where that is not known
    """

    kind: str
    level: Level
    text: str
    member: str | None = None
    since_frames: int | None = None


@dataclass(frozen=True, slots=True)
class RoleAssessment:
    """The strength of the members of one role.

    role        its name
    best        its best snapshot; None before one has enough games
    gain        the change that its conclusion rests on; None where none can be told
    trend       the mean strength of its members over frames, at most 40 points
    flat_since  the clock from which on it gained nothing, where it stalled, or learned and has
                finished; None where it gained up to now, or nothing is sure
    """

    role: str
    best: BestPlayer | None
    gain: Gain | None
    trend: tuple[Point, ...]
    flat_since: int | None = None


@dataclass(frozen=True, slots=True)
class PbtAction:
    """What PBT did with a member.

    member  the member
    text    what was done
    why     the reasons of the round, in words
    frames  the member's clock
    time    seconds since the epoch
    """

    member: str
    text: str
    why: str
    frames: int
    time: float


@dataclass(frozen=True, slots=True)
class MemberAssessment:
    """What may be said of one member.

    member         its name
    role           that it plays
    state          "learning", "finished" or "failed"; "paused", "stopped" or "left" where it learns
                   no more; "unknown" before a trainer reported it
    frames         its clock
    player         label of its newest rated snapshot, of which value and score are; None before one
    value          strength of that snapshot; None before it is rated
    low, high      an end of the 95 % interval of the value; None where games give none
    score          score of that snapshot against `score_against`; None without such games
    score_low, score_high  an end of the 95 % interval of the score; None as the score
    score_games    number of games of the score
    score_against  the player that the score is against; "" where none is
    last_pbt       the newest action of PBT; None before one
    trend          strength of its snapshots over frames, at most 40 points
    health         whether it is well
    health_text    the same for people, with the reason
    updates_taken    optimiser steps that were taken
    updates_refused  optimiser steps that were refused
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
    last_pbt: PbtAction | None
    trend: tuple[Point, ...]
    health: Health
    health_text: str
    updates_taken: int
    updates_refused: int


@dataclass(frozen=True, slots=True)
class Assessment:
    """The assessment of a population.

    population       its name
    game             that it plays
    state            what it does, in a word
    frames           the least clock of its members that learn
    goal_frames      at which a member stops; None where that is not known
    progress         the mean share of the goal that members have reached, in [0, 1]; None as the
                     goal
    seconds_left     an estimate; None where none can be made
    conclusion       what the strengths and faults show
    sentence         the assessment in words
    brief            of that only what no other field tells, for a place that shows the others
    unit             of strengths
    gain             of the role that the conclusion rests on; None where none can be told
    flat_since       of that role, as in `RoleAssessment`
    best             best snapshot of that role; None before one has enough games
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
    gain: Gain | None
    flat_since: int | None
    best: BestPlayer | None
    anchors: tuple[AnchorScore, ...]
    copies: int
    mutations: int
    updates_taken: int
    updates_refused: int
    findings: tuple[PopulationFinding, ...]
    roles: tuple[RoleAssessment, ...]
    members: tuple[MemberAssessment, ...]
