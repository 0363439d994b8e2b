"""Bodies of requests and answers that several routes share, and how they are made from rows."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from api.http.json_values import plain
from api.open_values import AnyValue, ConfigTable
from arena.assessment.training_warnings import warnings
from arena.data.paths import POPULATION_NAME
from arena.data.status import Moment, RunStatus, member_state
from arena.league.operations import Operation
from arena.league.supervised import Supervised
from pbt.objective import ObjectiveKind

NAME_PATTERN = f"^{POPULATION_NAME.pattern}$"
PopulationName = Annotated[str, Path(pattern=NAME_PATTERN, description="name of the population")]
Member = Annotated[
    str | None, Query(pattern=r"^[a-z][a-z0-9_-]{0,31}$", description="only this member")
]
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


class Body(BaseModel):
    """A request body: unknown fields are refused, and a text is never taken for a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class NewPopulationBody(Body):
    """A population to create.

    name    its name
    config  as in a config file, a table of tables; `arena config schema` prints its schema
    start   start training at once
    """

    name: Annotated[str, Field(pattern=NAME_PATTERN, description="letters, digits, '-' and '_'")]
    config: Annotated[ConfigTable, AfterValidator(plain)]
    start: bool = False


class PatchBody(Body):
    """An edit of the config.

    set  dotted key of the config -> new value; only keys that a started population can take. null
         takes a term out of `learning.shaping`.
    """

    set: Annotated[
        dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,200}$")], AnyValue],
        Field(min_length=1, max_length=64),
        AfterValidator(plain),
    ]


class MemberStatus(BaseModel):
    """A member as its trainer reported it last.

    name             its name
    frames           that it has trained
    lag              mean lag of its newest update, in versions
    state            "learning", "finished" or "failed"; "paused" or "stopped" where its population
                     is at rest
    ranked           the number that PBT ranks, in the status's `ranked_by`; null before any game
                     counts
    updates          optimiser steps that were taken since the population began
    refused_updates  steps that were not taken, because a loss or a gradient was not finite
    failure          why it failed; empty while it has not
    """

    name: str
    frames: int
    lag: float | None
    state: Literal["learning", "finished", "failed", "paused", "stopped"]
    ranked: float | None = None
    updates: int = 0
    refused_updates: int = 0
    failure: str = ""


class PopulationSpec(BaseModel):
    """What is wanted of a population.

    desired          the wanted state, null when nothing was asked for
    pending_edits    edits that are not in force yet; the next start of its trainer takes them
    config           the config in force, for one population that is shown alone
    hyperparameters  with the config: the keys of it that PBT mutates. An edit of one sets it for
                     every member that has it
    """

    desired: Literal["running", "paused", "stopped", "deleted"] | None
    pending_edits: list[str]
    config: ConfigTable | None = None
    hyperparameters: list[str] = []


class PopulationStatus(BaseModel):
    """What a population does now.

    state            what it does
    reason           why, as a word for programs
    message          why, for people
    since            when this state began, in seconds since 1970
    restarts         how often its trainer ended by itself since the newest checkpoint
    frames           of all members together
    members          as its trainer reported them last
    ranked_by        what PBT ranks: wins, the margin or the return; null before it trained
    warnings         problems, in words
    last_checkpoint  for one population that is shown alone: its newest checkpoint
    last_log_lines   for one population that is shown alone: the end of its trainer's output
    """

    state: State
    reason: str | None
    message: str
    since: float
    restarts: int
    frames: int
    members: list[MemberStatus]
    ranked_by: ObjectiveKind | None = None
    warnings: list[str]
    last_checkpoint: str | None = None
    last_log_lines: list[str] = []


class PopulationBody(BaseModel):
    """A population.

    id          its name
    created_at  seconds since 1970
    revision    counts the requests that changed what is wanted; it is the ETag
    spec        what is wanted
    status      what it does now
    effects     in the answer to an edit: what the edit does beside setting values, in words
    """

    id: str
    created_at: float
    revision: int
    spec: PopulationSpec
    status: PopulationStatus
    effects: list[str] = []


class OperationBody(BaseModel):
    """An operation. Its states are those of Ray's job interface.

    id           the operation's number
    population   which population it changes
    kind         what was asked for
    state        PENDING, RUNNING, then SUCCEEDED, FAILED or STOPPED (another request replaced it)
    created_at   seconds since 1970
    finished_at  seconds since 1970, null before its end
    problem      why it failed
    """

    id: str
    population: str
    kind: str
    state: Literal["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]
    created_at: float
    finished_at: float | None
    problem: str | None


def population_body(
    row: Supervised,
    status: RunStatus | None,
    config: dict[str, Any] | None = None,
    hyperparameters: Sequence[str] = (),
    **more: Any,
) -> PopulationBody:
    """The body of a population.

    config           for one that is shown alone, with its hyperparameters
    hyperparameters  dotted keys
    more             `last_checkpoint` and `last_log_lines`, for one that is shown alone
    """
    rows = () if status is None else status.members
    members = [
        MemberStatus(**{**asdict(member), "state": member_state(row.state, member.state)})
        for member in rows
    ]
    spec = PopulationSpec(
        desired=row.desired,
        pending_edits=list(row.overrides),
        config=config,
        hyperparameters=list(hyperparameters),
    )
    shown = PopulationStatus(
        state=row.state,
        reason=row.reason,
        message=row.message,
        since=row.since,
        restarts=row.restarts,
        frames=sum(member.frames for member in members),
        members=members,
        ranked_by=None if status is None else status.ranked_by,
        warnings=warnings(row, status, Moment.now()),
        **more,
    )
    return PopulationBody(
        id=row.name, created_at=row.created_at, revision=row.revision, spec=spec, status=shown
    )


def operation_body(operation: Operation) -> OperationBody:
    return OperationBody(**{**asdict(operation), "id": str(operation.id)})
