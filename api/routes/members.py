"""Members of a population: who they are, their values and curves over frames, where they come
from, what they left behind.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Here
from api.http.problems import Problem
from api.http.written import json_bytes, written
from api.routes.bodies import NAME_PATTERN
from api.routes.edits import config_table, status_of
from api.routes.league import SnapshotBody, snapshot_body
from api.routes.series import decimate
from api.routes.tagged import KNOWN, IfNoneMatch, tagged, tagged_by_content
from arena.data.curves import Points, curves_stamp
from arena.league.ancestry import STILL_LEARNING, find_weights, read_histories
from arena.league.database import League
from arena.league.lineage import RoundDecision, trace
from arena.league.populations import find_population
from arena.league.stored_history import StoredEvent, list_events
from arena.league.stored_snapshots import list_snapshots
from arena.league.summaries import MemberSummary, list_members
from pbt.errors import EngineError

router = APIRouter(prefix="/v1/populations/{name}", tags=["members"])

Name = Annotated[str, Path(pattern=NAME_PATTERN)]
Member = Annotated[
    str | None, Query(pattern=r"^[a-z][a-z0-9_-]{0,31}$", description="only this member")
]


class MemberBody(BaseModel):
    """frames: as its trainer told last;  generation, version: of its newest snapshot;  left: it
    learns no more

    hyperparams: after its last round; before one, those it began with
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
    items: list[MemberBody]


class HyperparamsPoint(BaseModel):
    """In force from `frames` of the member's clock on. copied_from: whose weights and values it
    took there.
    """

    frames: int
    round: int
    values: dict[str, float]
    copied_from: str | None
    mutated: list[str]
    verdict: str


class HyperparamsHistory(BaseModel):
    """start: values before the first round, by member"""

    start: dict[str, dict[str, float]]
    members: dict[str, list[HyperparamsPoint]]


class Curve(BaseModel):
    """values: one for each of `frames`; one that was not finite is null.  seconds: its trainers
    had run by then, where `times` asked for it
    """

    frames: list[int]
    values: list[float | None]
    seconds: list[float] | None = None


class Curves(BaseModel):
    """members: member -> name of the curve;  keys: names of all curves that there are"""

    members: dict[str, dict[str, Curve]]
    keys: list[str]


class SnapshotList(BaseModel):
    items: list[SnapshotBody]


class EventBody(BaseModel):
    kind: str
    member: str | None
    frames: int
    text: str
    incarnation: int
    superseded: bool
    created_at: float


class EventList(BaseModel):
    items: list[EventBody]


@router.get("/members", operation_id="listMembers", response_model=MemberList)
def members(here: Here, name: Name) -> Response:
    """In order, with those that left."""
    found = list_members(here.league, name)
    left = config_table(here, name).get("population", {}).get("left", ())
    began = (
        {} if all(row.hyperparams for row in found) else read_histories(here.league, name).initial
    )
    status = status_of(here, name)
    now = {} if status is None else {member.name: member.frames for member in status.members}
    return written(
        {
            "items": [
                member_body(row, began.get(row.name, {}), now.get(row.name, 0), row.name in left)
                for row in found
            ]
        }
    )


def member_body(
    row: MemberSummary, began: Mapping[str, float], frames: int, left: bool
) -> dict[str, Any]:
    """As `MemberBody`. began: the values it began with;  frames: that it has trained by now, as
    far as anybody told
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
    here: Here, name: Name, member: Member = None, if_none_match: IfNoneMatch = None
) -> Response:
    """What PBT made of every member's values, round by round."""
    return tagged_by_content(if_none_match, hyperparams_history(here.league, name, member))


def hyperparams_history(league: League, name: str, member: str | None) -> dict[str, Any]:
    """As `HyperparamsHistory`."""
    histories = read_histories(league, name)
    wanted = [
        each
        for each in (
            *histories.initial,
            *sorted(histories.rounds.keys() - histories.initial.keys()),
        )
        if member in (None, each)
    ]
    return {
        "start": {
            each: dict(histories.initial[each]) for each in wanted if each in histories.initial
        },
        "members": {
            each: [hyperparams_point(decision) for decision in histories.rounds.get(each, ())]
            for each in wanted
        },
    }


def hyperparams_point(decision: RoundDecision) -> dict[str, Any]:
    """As `HyperparamsPoint`."""
    directive = decision.directive
    return {
        "frames": decision.frames,
        "round": directive.round,
        "values": dict(directive.hyperparams),
        "copied_from": directive.copy_from,
        "mutated": directive.mutated,
        "verdict": decision.verdict,
    }


@router.get("/lineage", operation_id="getLineage", response_model=dict[str, Any], responses=KNOWN)
def lineage(
    here: Here,
    name: Name,
    player: Annotated[
        str, Query(pattern=r"^[a-z0-9@.kMB_-]{1,80}$", description="m0, m0@1.2M or best")
    ],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The chain of copies and mutations behind a policy, as `arena lineage --json`; frames are
    counted along the chain.
    """
    return tagged_by_content(if_none_match, ancestry(here.league, name, player))


def ancestry(league: League, name: str, player: str) -> dict[str, Any]:
    """Raises: PlayerError; Problem while the league is not whole."""
    wanted = f"{name}@best" if player == "best" else f"{name}/{player}"
    _, weights = find_weights(league, wanted)
    try:
        found = trace(read_histories(league, name), weights)
    except EngineError as error:  # a copy whose snapshot is not committed yet
        raise Problem("conflict", f"the league is not whole: {error}") from error
    created_at = None if weights.created_at == STILL_LEARNING else weights.created_at
    return {
        "player": wanted,
        **asdict(weights),
        "created_at": created_at,
        "lineage_frames": found.frames,
        "steps": _steps(found.steps),
    }


def _steps(steps: Any) -> list[dict[str, Any]]:
    told = [asdict(step) for step in steps]
    for step in told:
        if step["donor"] is not None and step["donor"]["created_at"] == STILL_LEARNING:
            step["donor"]["created_at"] = None
    return told


@router.get("/metrics", operation_id="getCurves", response_model=Curves, responses=KNOWN)
def curves(
    here: Here,
    name: Name,
    keys: Annotated[
        str | None,
        Query(
            max_length=2000, description="names of curves with commas between; all where left out"
        ),
    ] = None,
    member: Member = None,
    first: Annotated[int, Query(ge=0, description="from so many frames on")] = 0,
    last: Annotated[int | None, Query(ge=0, description="up to so many frames")] = None,
    points: Annotated[
        int,
        Query(ge=4, le=10_000, description="at most so many of each curve; lows and highs stay"),
    ] = 500,
    times: Annotated[
        bool, Query(description="also when: seconds of training, breaks left out")
    ] = False,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Training curves over frames. ETag: of what was written so far."""
    if last is not None and last < first:
        raise Problem(
            "invalid",
            f"last = {last}: smaller than first = {first}",
            [("last", "smaller than first")],
        )
    with here.league.read() as connection:
        find_population(connection, name)
    folder = here.paths(name).metrics

    def body() -> bytes:
        wanted = None if keys is None else set(keys.split(","))
        there, found = here.curves.read(
            folder, wanted, None if member is None else [member], first, last
        )
        told = {
            each: {
                key: to_curve(curve, points, times)
                for key, curve in named.items()
                if len(curve.frames)
            }
            for each, named in found.items()
        }
        return json_bytes(
            {"members": {each: named for each, named in told.items() if named}, "keys": there}
        )

    return tagged(curves_stamp(folder), if_none_match, body)


def to_curve(curve: Points, points: int, times: bool) -> dict[str, list[float]]:
    """NaN becomes null in JSON."""
    kept = decimate(curve.values, points)
    body = {"frames": curve.frames[kept].tolist(), "values": curve.values[kept].tolist()}
    return {**body, "seconds": curve.seconds[kept].round(1).tolist()} if times else body


@router.get("/snapshots", operation_id="listSnapshots", response_model=SnapshotList)
def snapshots(here: Here, name: Name, member: Member = None, superseded: bool = False) -> Response:
    """By frames."""
    return written(
        SnapshotList(
            items=[
                snapshot_body(stored)
                for stored in list_snapshots(here.league, name, member, superseded=superseded)
            ]
        )
    )


@router.get("/events", operation_id="listEvents", response_model=EventList)
def events(here: Here, name: Name, limit: Annotated[int, Query(ge=1, le=5000)] = 500) -> Response:
    """What its trainers noted, the newest `limit`, oldest first."""
    return written(
        {"items": [event_body(row) for row in list_events(here.league, name, limit=limit)]}
    )


def event_body(stored: StoredEvent) -> dict[str, Any]:
    """As `EventBody`."""
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
