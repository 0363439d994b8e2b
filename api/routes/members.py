"""Members of a population: who they are, their values and curves over frames, where they come from, what they left behind."""

from collections import defaultdict
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from api.bodies import NAME_PATTERN
from api.context import Here
from api.problems import Problem
from api.routes.league import SnapshotBody, snapshot_body
from api.series import Point, decimate
from arena.league.ancestry import STILL_LEARNING, find_weights, read_histories
from arena.league.queries import list_events, list_members, list_rounds, list_snapshots
from arena.lineage import trace
from arena.metrics import read_metrics
from pbt.errors import EngineError

router = APIRouter(prefix="/v1/populations/{name}", tags=["members"])

Name = Annotated[str, Path(pattern=NAME_PATTERN)]
Member = Annotated[str | None, Query(pattern=r"^[a-z][a-z0-9_-]{0,31}$", description="only this member")]


class MemberBody(BaseModel):
    """frames, generation, version: of its newest snapshot;  hyperparams: after its last round, {} before one"""

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


class MemberList(BaseModel):
    items: list[MemberBody]


class HyperparamsPoint(BaseModel):
    """In force from `frames` of the member's clock on. copied_from: whose weights and values it took there."""

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
    """values: one for each of `frames`; one that was not finite is null"""

    frames: list[int]
    values: list[float | None]


class Curves(BaseModel):
    """member -> name of the curve"""

    members: dict[str, dict[str, Curve]]


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
def members(here: Here, name: Name) -> MemberList:
    """In order."""
    found = list_members(here.league, name)
    return MemberList(items=[MemberBody(**{**asdict(row), "hyperparams": dict(row.hyperparams)}) for row in found])


@router.get("/hyperparameters", operation_id="getHyperparameters", response_model=HyperparamsHistory)
def hyperparameters(here: Here, name: Name, member: Member = None) -> HyperparamsHistory:
    """What PBT made of every member's values, round by round."""
    histories = read_histories(here.league, name)
    found: dict[str, list[HyperparamsPoint]] = {each: [] for each in histories.initial if member in (None, each)}
    for stored in list_rounds(here.league, name):
        record, directive = stored.record, stored.record.directive
        if member in (None, record.member):
            point = HyperparamsPoint(
                frames=record.frames,
                round=record.round,
                values=dict(directive.hyperparams),
                copied_from=directive.copy_from,
                mutated=list(directive.mutated),
                verdict=record.verdict,
            )
            found.setdefault(record.member, []).append(point)
    return HyperparamsHistory(start={each: dict(histories.initial[each]) for each in found if each in histories.initial}, members=found)


@router.get("/lineage", operation_id="getLineage", response_model=dict[str, Any])
def lineage(
    here: Here, name: Name, player: Annotated[str, Query(pattern=r"^[a-z0-9@.kMB_-]{1,80}$", description="m0, m0@1.2M or best")]
) -> dict[str, Any]:
    """The chain of copies and mutations behind a policy, as `arena lineage --json`; frames are counted along the chain."""
    wanted = f"{name}@best" if player == "best" else f"{name}/{player}"
    _, weights = find_weights(here.league, wanted)
    try:
        found = trace(read_histories(here.league, name), weights)
    except EngineError as error:  # a copy whose snapshot is not committed yet
        raise Problem("conflict", f"the league is not whole: {error}") from error
    created_at = None if weights.created_at == STILL_LEARNING else weights.created_at
    return {"player": wanted, **asdict(weights), "created_at": created_at, "lineage_frames": found.frames, "steps": _steps(found.steps)}


def _steps(steps: Any) -> list[dict[str, Any]]:
    told = [asdict(step) for step in steps]
    for step in told:
        if step["donor"] is not None and step["donor"]["created_at"] == STILL_LEARNING:
            step["donor"]["created_at"] = None
    return told


@router.get("/metrics", operation_id="getCurves", response_model=Curves)
def curves(
    here: Here,
    name: Name,
    keys: Annotated[str | None, Query(max_length=2000, description="names of curves with commas between; all where left out")] = None,
    member: Member = None,
    first: Annotated[int, Query(ge=0, description="from so many frames on")] = 0,
    last: Annotated[int | None, Query(ge=0, description="up to so many frames")] = None,
    points: Annotated[int, Query(ge=4, le=10_000, description="at most so many of each curve; lows and highs stay")] = 500,
) -> Curves:
    """Training curves over frames."""
    if last is not None and last < first:
        raise Problem("invalid", f"last = {last}: smaller than first = {first}", [("last", "smaller than first")])
    list_members(here.league, name)
    wanted = None if keys is None else set(keys.split(","))
    found: dict[str, dict[str, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for row in read_metrics(here.paths(name).metrics, None if member is None else [member]):
        if row.frames >= first and (last is None or row.frames <= last):
            for key, value in row.values.items():
                if wanted is None or key in wanted:
                    found[row.member][key].append((row.frames, value))
    return Curves(members={each: {key: to_curve(decimate(curve, points)) for key, curve in named.items()} for each, named in found.items()})


def to_curve(points: list[Point]) -> Curve:
    return Curve(frames=[frames for frames, _ in points], values=[value for _, value in points])


@router.get("/snapshots", operation_id="listSnapshots", response_model=SnapshotList)
def snapshots(here: Here, name: Name, member: Member = None, superseded: bool = False) -> SnapshotList:
    """By frames."""
    return SnapshotList(items=[snapshot_body(stored) for stored in list_snapshots(here.league, name, member, superseded=superseded)])


@router.get("/events", operation_id="listEvents", response_model=EventList)
def events(here: Here, name: Name, limit: Annotated[int, Query(ge=1, le=5000)] = 500) -> EventList:
    """What its trainers noted, the newest `limit`, oldest first."""
    found = list_events(here.league, name, limit=limit)
    told = [EventBody(**asdict(row.event), incarnation=row.incarnation, superseded=row.superseded, created_at=row.created_at) for row in found]
    return EventList(items=told)
