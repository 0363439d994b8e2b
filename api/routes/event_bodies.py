"""Events: what a training noted, and what the stream of the service carries."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, RootModel

from api.notify.stored import EventName
from arena.league.job_requests import JobKind, JobState
from arena.matches.report_parts import MarginReport
from pbt.objective import ObjectiveKind


class EventBody(BaseModel):
    """An event of a training.

    kind         of event, such as "copy", "mutate", "edit", "checkpoint", "resume" or "warning"
    member       that it concerns, null for the whole population
    frames       of the member's clock
    text         what happened
    incarnation  which start of the trainer noted it
    superseded   a resume went back behind it
    created_at   seconds since 1970
    """

    kind: str
    member: str | None
    frames: int
    text: str
    incarnation: int
    superseded: bool
    created_at: float


class EventList(BaseModel):
    """A page of events of a population.

    items  in the order that was asked for
    next   the cursor of the next page, null on the last one
    """

    items: list[EventBody]
    next: str | None


class Told(BaseModel):
    """What all events of the stream have.

    population  which population it concerns, empty where it concerns none
    at          seconds since 1970
    """

    population: str
    at: float


class PopulationTold(Told):
    """A population has a new state, or edits that are not in force yet.

    topic     which kind of event it is
    state     what the population does now; left out for edits
    reason    why, as a word for programs; left out for edits
    message   why, for people; left out for edits
    restarts  how often its trainer ended by itself; left out for edits
    edits     `key=value` of each edit; left out for a new state
    """

    topic: Literal["population"]
    state: str | None = None
    reason: str | None = None
    message: str | None = None
    restarts: int | None = None
    edits: list[str] | None = None


class OperationTold(Told):
    """An operation was asked for, or its state changed.

    topic    which kind of event it is
    id       the operation's number
    kind     what was asked for
    state    how far it is
    problem  why it failed
    """

    topic: Literal["operation"]
    id: int
    kind: str
    state: Literal["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]
    problem: str | None = None


class TrainingTold(Told):
    """A trainer noted something.

    topic   which kind of event it is
    kind    of note, as in the events of a population
    member  that it concerns, null for the whole population
    frames  of the member's clock
    text    what happened
    """

    topic: Literal["training"]
    kind: str
    member: str | None
    frames: int
    text: str


class EvaluationTold(Told):
    """A match that the service plays has gone on. Numbers are null before they are known.

    topic      which kind of event it is
    id         the evaluation's number
    state      how far it is
    message    the same for people
    games      games played so far
    planned    games planned
    objective  what decides between the players
    score      of the first player
    low, high  an end of the score's 95 % interval
    margin     where margins decide
    """

    topic: Literal["evaluation"]
    id: str
    state: Literal["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]
    message: str
    games: int | None
    planned: int | None
    objective: ObjectiveKind | None
    score: float | None
    low: float | None
    high: float | None
    margin: MarginReport | None


class JobTold(Told):
    """Requested work has gone on.

    topic    which kind of event it is
    id       the job's number
    kind     of work
    state    how far it is
    message  the same for people
    """

    topic: Literal["job"]
    id: str
    kind: JobKind
    state: JobState
    message: str


class WebhookTold(Told):
    """A notice of a webhook was taken, or given up.

    topic      which kind of event it is
    event      what the notice told
    delivered  whether the receiver took it
    problem    why it did not, null where it did
    tries      how often it was sent
    """

    topic: Literal["webhook"]
    event: EventName
    delivered: bool
    problem: str | None
    tries: int


class ResyncTold(BaseModel):
    """Events were missed and are not kept any more: read everything anew.

    topic   which kind of event it is
    newest  number of the newest event
    """

    topic: Literal["resync"]
    newest: int


class StreamedEvent(
    RootModel[
        Annotated[
            PopulationTold
            | OperationTold
            | TrainingTold
            | EvaluationTold
            | JobTold
            | WebhookTold
            | ResyncTold,
            Field(discriminator="topic"),
        ]
    ]
):
    """The `data` of an event of the stream; `topic` is the same as its `event`."""
