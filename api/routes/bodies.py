"""What goes over the wire, converted by hand from what `arena` gives."""

import time
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from api.http.plain import plain
from api.routes.warnings import warnings
from arena.data.paths import POPULATION_NAME
from arena.data.status import RunStatus
from arena.league.operations import Operation
from arena.league.supervised import Supervised

NAME_PATTERN = f"^{POPULATION_NAME.pattern}$"
State = Literal[
    "created",
    "queued",
    "starting",
    "running",
    "recovering",
    "stopping",
    "stopped",
    "paused",
    "finished",
    "failed",
    "deleting",
    "interrupted",
]


Table = Annotated[dict[str, Any], AfterValidator(plain)]


class Body(BaseModel):
    """What a request may say: nothing that is not named here, and a number is no text that looks
    like one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class NewPopulationBody(Body):
    """config: as in a config file, a table of tables; `arena config schema` prints its schema."""

    name: Annotated[str, Field(pattern=NAME_PATTERN, description="letters, digits, '-' and '_'")]
    config: Table
    start: bool = False


class PatchBody(Body):
    """set: dotted key of the config -> new value; only what a started population can take. null
    takes a term out of `learning.shaping`.
    """

    set: Annotated[
        dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,200}$")], Any],
        Field(min_length=1, max_length=64),
        AfterValidator(plain),
    ]


class MemberStatus(BaseModel):
    name: str
    frames: int
    lag: float | None
    state: str


class PopulationSpec(BaseModel):
    """What is wanted. pending_edits: not in force yet; the next start of its trainer takes them."""

    desired: Literal["running", "paused", "stopped", "deleted"] | None
    pending_edits: list[str]
    config: dict[str, Any] | None = None


class PopulationStatus(BaseModel):
    """What is there. frames: of all members together;  warnings: what is not well, in words."""

    state: str
    reason: str | None
    message: str
    since: float
    restarts: int
    frames: int
    members: list[MemberStatus]
    warnings: list[str]
    last_checkpoint: str | None = None
    last_log_lines: list[str] = []


class PopulationBody(BaseModel):
    """A population. revision: counts what was asked for, and is its ETag;  effects: what an edit
    does beside, in words, in the answer to one
    """

    id: str
    created_at: float
    revision: int
    spec: PopulationSpec
    status: PopulationStatus
    effects: list[str] = []


class OperationBody(BaseModel):
    """States as in Ray's job interface: PENDING, RUNNING, then SUCCEEDED, FAILED or STOPPED
    (something else was asked for instead).
    """

    id: str
    population: str
    kind: str
    state: Literal["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]
    created_at: float
    finished_at: float | None
    problem: str | None


def population_body(row: Supervised, status: RunStatus | None, **more: Any) -> PopulationBody:
    """more: `config`, `last_checkpoint` and `last_log_lines`, for one that is shown alone."""
    members = (
        []
        if status is None
        else [
            MemberStatus(name=m.name, frames=m.frames, lag=m.lag, state=m.state)
            for m in status.members
        ]
    )
    spec = PopulationSpec(
        desired=row.desired, pending_edits=list(row.overrides), config=more.pop("config", None)
    )
    seen = PopulationStatus(
        state=row.state,
        reason=row.reason,
        message=row.message,
        since=row.since,
        restarts=row.restarts,
        frames=sum(member.frames for member in members),
        members=members,
        warnings=warnings(row, status, time.time()),
        **more,
    )
    return PopulationBody(
        id=row.name, created_at=row.created_at, revision=row.revision, spec=spec, status=seen
    )


def operation_body(operation: Operation) -> OperationBody:
    return OperationBody(
        id=str(operation.id),
        population=operation.population,
        kind=operation.kind,
        state=operation.state,
        created_at=operation.created_at,
        finished_at=operation.finished_at,
        problem=operation.problem,
    )
