"""Operations on a population: start, stop, pause, resume and delete.

Each answers 202 with an operation; the supervisor carries it out.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Context, Here, IfMatch, KeyHeader, revision_of
from api.routes.bodies import OperationBody, PopulationName, operation_body
from arena.league.idempotency import Answer, Keyed
from arena.league.operations import Kind, Operation, ask

router = APIRouter(prefix="/v1/populations", tags=["populations"])


@router.delete(
    "/{name}", operation_id="deletePopulation", status_code=202, response_model=OperationBody
)
def delete_population(
    request: Request,
    here: Here,
    name: PopulationName,
    key: KeyHeader = None,
    if_match: IfMatch = None,
) -> Response:
    """Stop its trainer, then remove its rows and files. Games of matches stay."""
    return ask_for(request, here, name, "delete", key, if_match)


Grace = Annotated[
    float | None,
    Query(gt=0, le=3600, description="seconds until a trainer that has not saved is killed"),
]


@router.post(
    "/{name}/start", operation_id="startPopulation", status_code=202, response_model=OperationBody
)
def start(
    request: Request,
    here: Here,
    name: PopulationName,
    key: KeyHeader = None,
    if_match: IfMatch = None,
) -> Response:
    """Train from its newest checkpoint, or from the first frame."""
    return ask_for(request, here, name, "start", key, if_match)


@router.post(
    "/{name}/stop", operation_id="stopPopulation", status_code=202, response_model=OperationBody
)
def stop(
    request: Request,
    here: Here,
    name: PopulationName,
    key: KeyHeader = None,
    if_match: IfMatch = None,
    grace_s: Grace = None,
) -> Response:
    """Save, then end its processes."""
    return ask_for(request, here, name, "stop", key, if_match, grace_s)


@router.post(
    "/{name}/pause", operation_id="pausePopulation", status_code=202, response_model=OperationBody
)
def pause(
    request: Request,
    here: Here,
    name: PopulationName,
    key: KeyHeader = None,
    if_match: IfMatch = None,
) -> Response:
    """Save, and free the machine until the population is resumed."""
    return ask_for(request, here, name, "pause", key, if_match)


@router.post(
    "/{name}/resume", operation_id="resumePopulation", status_code=202, response_model=OperationBody
)
def resume(
    request: Request,
    here: Here,
    name: PopulationName,
    key: KeyHeader = None,
    if_match: IfMatch = None,
) -> Response:
    """Go on after a pause."""
    return ask_for(request, here, name, "resume", key, if_match)


def ask_for(
    request: Request,
    here: Context,
    name: str,
    kind: Kind,
    key: str | None,
    if_match: str | None,
    grace_s: float | None = None,
) -> Response:
    """Record the operation for the supervisor, and answer with it."""

    def render(operation: Operation) -> Answer:
        return Answer(
            202, f"/v1/operations/{operation.id}", operation_body(operation).model_dump_json()
        )

    def act(keyed: Keyed | None) -> Answer:
        return ask(
            here.league,
            name,
            kind,
            render,
            grace_s=grace_s,
            keyed=keyed,
            if_revision=revision_of(if_match),
        )

    return here.change(
        request, key, [kind, grace_s, if_match], act, makes_room=kind in ("stop", "pause", "delete")
    )
