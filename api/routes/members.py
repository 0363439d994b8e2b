"""Members of a population: values, hyperparameters, lineage and events."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Here
from api.http.json_response import written
from api.http.problems import Problem
from api.reconcile.trainings import newest_status
from api.routes.bodies import Member, PopulationName
from api.routes.edits import config_table
from api.routes.etags import KNOWN, IfNoneMatch, tagged_by_content
from api.routes.event_bodies import EventList
from api.routes.lineage_bodies import FirstWeightsBody, LineageBody
from api.routes.pages import Cursor, LongLimit, Since, Until, read_cursor, write_cursor
from arena.league.ancestry import STILL_LEARNING, find_weights, read_histories
from arena.league.database import League
from arena.league.lineage import Origin, RoundDecision, Weights, trace
from arena.league.ordered_pages import EventFilter, ListOrder, Span, event_page
from arena.league.stored_history import StoredEvent
from arena.league.summaries import MemberSummary, list_members
from pbt.errors import EngineError

router = APIRouter(prefix="/v1/populations/{name}", tags=["members"])


class MemberBody(BaseModel):
    """A member.

    name             its name
    role             that it plays
    position         its place in the order of members
    frames           that it has trained, as its trainer reported last
    generation       of its newest snapshot: how often it had copied another member
    version          of its newest snapshot: the version of its weights
    snapshots        how many snapshots it has
    newest_snapshot  the id of its newest snapshot, null without one
    rounds           how many PBT rounds were decided for it
    hyperparams      after its last round; before one, those it began with
    left             it was taken out and learns no more
    """

    name: str
    role: str
    position: int
    frames: int
    generation: int
    version: int
    snapshots: int
    newest_snapshot: str | None
    rounds: int
    hyperparams: dict[str, float]
    left: bool


class MemberList(BaseModel):
    """The members of a population.

    items  in order, with those that left
    """

    items: list[MemberBody]


class HyperparamsPoint(BaseModel):
    """Hyperparameters of a member after a round.

    frames        of the member's clock, from which on they are in force
    round         the number of the round
    values        all hyperparameters
    copied_from   the member whose weights and values it took over, null without a copy
    donor_frames  the clock of that member when its weights were taken, null without a copy
    mutated       the names that changed by mutation
    verdict       why the round decided so
    """

    frames: int
    round: int
    values: dict[str, float]
    copied_from: str | None
    donor_frames: int | None
    mutated: list[str]
    verdict: str


class OriginBody(BaseModel):
    """How a member that joined later began.

    member  whose weights it began with, null for new ones
    frames  the clock of that member when its weights were taken, null for new ones
    """

    member: str | None
    frames: int | None


class HyperparamsHistory(BaseModel):
    """The hyperparameters of members over time.

    start    values before the first round, by member
    origins  how members that joined later began, by member
    began    weights of another population that first members began with, by member
    members  values after each round, by member
    """

    start: dict[str, dict[str, float]]
    origins: dict[str, OriginBody]
    began: dict[str, FirstWeightsBody]
    members: dict[str, list[HyperparamsPoint]]


@router.get("/members", operation_id="listMembers", response_model=MemberList)
def members(here: Here, name: PopulationName) -> Response:
    """The members in order, with those that left."""
    rows = list_members(here.league, name)
    left = config_table(here, name).get("population", {}).get("left", ())
    began = (
        {} if all(row.hyperparams for row in rows) else read_histories(here.league, name).initial
    )
    status = newest_status(here.paths(name))
    now = {} if status is None else {member.name: member.frames for member in status.members}
    return written(
        {
            "items": [
                member_body(row, began.get(row.name, {}), now.get(row.name, 0), row.name in left)
                for row in rows
            ]
        }
    )


def member_body(
    row: MemberSummary, began: Mapping[str, float], frames: int, left: bool
) -> dict[str, Any]:
    """The values of a `MemberBody`.

    began   the hyperparameters it began with
    frames  that it has trained, as its trainer reported last; 0 without a report
    """
    return {
        **asdict(row),
        "frames": max(row.frames, frames),
        "hyperparams": dict(row.hyperparams or began),
        "left": left,
    }


@router.get(
    "/hyperparameters",
    operation_id="getHyperparameters",
    response_model=HyperparamsHistory,
    responses=KNOWN,
)
def hyperparameters(
    here: Here, name: PopulationName, member: Member = None, if_none_match: IfNoneMatch = None
) -> Response:
    """Every member's hyperparameters, round by round."""
    return tagged_by_content(if_none_match, hyperparams_history(here.league, name, member))


def hyperparams_history(league: League, name: str, member: str | None) -> dict[str, Any]:
    """The values of a `HyperparamsHistory`."""
    histories = read_histories(league, name)
    names = [
        each
        for each in (
            *histories.initial,
            *sorted(histories.rounds.keys() - histories.initial.keys()),
        )
        if member in (None, each)
    ]
    return {
        "start": {
            each: dict(histories.initial[each]) for each in names if each in histories.initial
        },
        "origins": {
            each: origin_body(origin) for each, origin in histories.origins.items() if each in names
        },
        "began": {each: asdict(one) for each, one in histories.began.items() if each in names},
        "members": {
            each: [
                hyperparams_point(decision, histories.snapshots)
                for decision in histories.rounds.get(each, ())
            ]
            for each in names
        },
    }


def origin_body(origin: Origin) -> dict[str, Any]:
    """The values of an `OriginBody`."""
    donor = origin.donor
    return {"member": donor and donor.member, "frames": donor and donor.frames}


def hyperparams_point(decision: RoundDecision, snapshots: Mapping[str, Weights]) -> dict[str, Any]:
    """The values of a `HyperparamsPoint`. snapshots: id -> weights"""
    directive = decision.directive
    donor = snapshots.get(directive.copy_snapshot or "")
    return {
        "frames": decision.frames,
        "round": directive.round,
        "values": dict(directive.hyperparams),
        "copied_from": directive.copy_from,
        "donor_frames": donor and donor.frames,
        "mutated": directive.mutated,
        "verdict": decision.verdict,
    }


@router.get("/lineage", operation_id="getLineage", response_model=LineageBody, responses=KNOWN)
def lineage(
    here: Here,
    name: PopulationName,
    player: Annotated[
        str, Query(pattern=r"^[a-z0-9@.kMB_-]{1,80}$", description="m0, m0@1.2M or best")
    ],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The chain of copies and mutations behind a policy, as `arena lineage --json`.

    Frames are counted along the chain.
    """
    return tagged_by_content(if_none_match, ancestry(here.league, name, player))


def ancestry(league: League, name: str, player: str) -> dict[str, Any]:
    """The chain of one player. Raises: PlayerError; Problem while the league is incomplete."""
    label = f"{name}@best" if player == "best" else f"{name}/{player}"
    _, weights = find_weights(league, label)
    try:
        chain = trace(read_histories(league, name), weights)
    except EngineError as error:  # a copy whose snapshot is not committed yet
        raise Problem("conflict", f"the league is incomplete: {error}; try again") from error
    created_at = None if weights.created_at == STILL_LEARNING else weights.created_at
    return {
        "player": label,
        **asdict(weights),
        "created_at": created_at,
        "lineage_frames": chain.frames,
        "steps": _steps(chain.steps),
    }


def _steps(steps: Any) -> list[dict[str, Any]]:
    tables = [asdict(step) for step in steps]
    for step in tables:
        if step["donor"] is not None and step["donor"]["created_at"] == STILL_LEARNING:
            step["donor"]["created_at"] = None
    return tables


@router.get("/events", operation_id="listEvents", response_model=EventList)
def events(
    here: Here,
    name: PopulationName,
    member: Member = None,
    kind: Annotated[
        str | None, Query(pattern=r"^[a-z]{1,32}$", description="only events of this kind")
    ] = None,
    superseded: Annotated[
        bool, Query(description="also events that a resume went back behind")
    ] = True,
    since: Since = None,
    until: Until = None,
    sort: Annotated[
        Literal["created", "-created"], Query(description="`-created`: newest first")
    ] = "-created",
    limit: LongLimit = 500,
    cursor: Cursor = None,
) -> Response:
    """The events that its trainers noted."""
    of = f"events {sort}"
    wanted = EventFilter(kind, member, superseded, Span(since, until))
    order, after = ListOrder("created_at", sort == "-created"), read_cursor(of, cursor, float, int)
    page, place = event_page(here.league, name, wanted, order, after, limit)
    return written({"items": [event_body(row) for row in page], "next": write_cursor(of, place)})


def event_body(stored: StoredEvent) -> dict[str, Any]:
    """The values of an `EventBody`."""
    event = stored.event
    return {
        "kind": event.kind,
        "member": event.member,
        "frames": event.frames,
        "text": event.text,
        "incarnation": stored.incarnation,
        "superseded": stored.superseded,
        "created_at": stored.created_at,
    }
