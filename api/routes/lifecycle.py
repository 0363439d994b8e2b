"""Operations on a population: start, stop, pause, resume and delete.

Each answers 202 with an operation; the supervisor carries it out.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from api.context import revision_of
from api.routes.bodies import OperationBody, operation_body
from api.routes.edits import ChangingPopulation, PopulationChange
from arena.league.idempotency import Answer
from arena.league.operations import Kind, Operation, ask

router = APIRouter(prefix="/v1/populations", tags=["populations"])

ACCEPTED: dict[str, Any] = {"status_code": 202, "response_model": OperationBody}


def ask_for(change: PopulationChange, kind: Kind, grace_s: float | None = None) -> Response:
    """Record the operation for the supervisor, and answer with it."""

    def render(operation: Operation) -> Answer:
        return Answer(
            202, f"/v1/operations/{operation.id}", operation_body(operation).model_dump_json()
        )

    return change.once(
        [kind, grace_s, change.if_match],
        lambda keyed: ask(
            change.here.league,
            change.name,
            kind,
            render,
            grace_s=grace_s,
            keyed=keyed,
            if_revision=revision_of(change.if_match),
        ),
        makes_room=kind in ("stop", "pause", "delete"),
    )


@router.delete("/{name}", operation_id="deletePopulation", **ACCEPTED)
def delete_population(change: ChangingPopulation) -> Response:
    """Stop its trainer, then remove its rows and files. Games of matches stay."""
    return ask_for(change, "delete")


Grace = Annotated[
    float | None,
    Query(gt=0, le=3600, description="seconds until a trainer that has not saved is killed"),
]


@router.post("/{name}/start", operation_id="startPopulation", **ACCEPTED)
def start(change: ChangingPopulation) -> Response:
    """Train from its newest checkpoint, or from the first frame."""
    return ask_for(change, "start")


@router.post("/{name}/stop", operation_id="stopPopulation", **ACCEPTED)
def stop(change: ChangingPopulation, grace_s: Grace = None) -> Response:
    """Save, then end its processes."""
    return ask_for(change, "stop", grace_s)


@router.post("/{name}/pause", operation_id="pausePopulation", **ACCEPTED)
def pause(change: ChangingPopulation) -> Response:
    """Save, and free the machine until the population is resumed."""
    return ask_for(change, "pause")


@router.post("/{name}/resume", operation_id="resumePopulation", **ACCEPTED)
def resume(change: ChangingPopulation) -> Response:
    """Go on after a pause."""
    return ask_for(change, "resume")
