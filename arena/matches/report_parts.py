"""Parts of the report of a match for programs; `arena.matches.report_schema` has the reports."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from arena.stats.sprt import EloModel

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]


class ReportPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PlayerReport(ReportPart):
    """A player of the match.

    name        as it is shown
    kind        "snapshot", "scripted" or "guest"
    id          a snapshot's whole id, or the name of a scripted player or a guest
    population  of a snapshot, else null
    member      of a snapshot, else null
    role        of a snapshot, else null
    frames      training frames of a snapshot, else null
    """

    name: str
    kind: str
    id: str
    population: str | None
    member: str | None
    role: str | None
    frames: int | None


class TallyReport(ReportPart):
    """Numbers of games.

    wins    games won
    draws   games drawn
    losses  games lost
    """

    wins: Count
    draws: Count
    losses: Count


class MeasureReport(ReportPart):
    """A value with its 95 % interval.

    value  the value
    low    lower end
    high   upper end
    """

    value: float
    low: float
    high: float


class EstimateReport(ReportPart):
    """A mean over blocks of games, with its 95 % interval.

    value  the mean
    low    lower end; null for a single block, or where all blocks are alike
    high   upper end, null as low
    """

    value: float
    low: float | None
    high: float | None


class ReturnsReport(ReportPart):
    """Returns of both players in games of one seat.

    mean_a     mean return of `a`
    mean_b     mean return of `b`
    mean_lead  how much more `a` returned on the same seed, in the mean
    lead       the same with its 95 % interval; null when all leads are equal
    """

    mean_a: float
    mean_b: float
    mean_lead: float
    lead: MeasureReport | None


class MarginReport(ReportPart):
    """How much `a` won, half of how much more it returned than `b`.

    units      seed pairs, or games where nothing is paired
    mean       mean margin of a unit, which is the mean over its games
    deviation  standard deviation of a unit; null for a single one
    low        lower end of the mean's 95 % interval; null where margins do not vary, or it has no
               bound
    high       upper end of the interval, null as low
    interval   what the interval is: "skewed t" for a fixed number of units, "sequence" for any stop
    los        likelihood of superiority: the probability that `a` wins more than `b`; null in a
               match with a sequential test
    """

    units: Count
    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    interval: Literal["skewed t", "sequence"]
    los: Share | None


class SprtReport(ReportPart):
    """The sequential probability ratio test of a match.

    elo0       strength of hypothesis H0
    elo1       strength of hypothesis H1
    alpha      probability of accepting H1 although H0 holds
    beta       probability of accepting H0 although H1 holds
    model      the unit of strength: normalised or logistic Elo, or normalised Elo of the margin
    llr        log-likelihood ratio of H1 to H0 so far
    lower      at or below this ratio H0 is accepted
    upper      at or above this ratio H1 is accepted
    state      the decision, or "continue"
    looked_at  number of pairs (of games, where nothing is paired) up to the decision
    """

    elo0: float
    elo1: float
    alpha: float
    beta: float
    model: EloModel
    llr: float
    lower: float
    upper: float
    state: Literal["continue", "accept H0", "accept H1"]
    looked_at: Count


class AssertionReport(ReportPart):
    """An assertion of the caller.

    text   as it was typed
    holds  whether it is true; null where a sequential test did not decide
    """

    text: str
    holds: bool | None
