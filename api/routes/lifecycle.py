"""Operations on a population: start, stop, pause, resume and delete.

Each answers 202 with an operation; the supervisor carries it out.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from api.context import Here, IfMatch, KeyHeader, revision_of
from api.routes.bodies import OperationBody, PopulationName, operation_body
from arena.league.idempotency import Answer, Keyed
from arena.league.operations import Kind, Operation, ask

router = APIRouter(prefix="/v1/populations", tags=["populations"])


@dataclass
class OperationRequest:
    """What every request for an operation carries."""

    request: Request
    here: Here
    name: PopulationName
    key: KeyHeader = None
    if_match: IfMatch = None

    def ask(self, kind: Kind, grace_s: float | None = None) -> Response:
        """Record the operation for the supervisor, and answer with it."""

        def render(operation: Operation) -> Answer:
            return Answer(
                202, f"/v1/operations/{operation.id}", operation_body(operation).model_dump_json()
            )

        def act(keyed: Keyed | None) -> Answer:
            return ask(
                self.here.league,
                self.name,
                kind,
                render,
                grace_s=grace_s,
                keyed=keyed,
                if_revision=revision_of(self.if_match),
            )

        makes_room = kind in ("stop", "pause", "delete")
        return self.here.change(
            self.request, self.key, [kind, grace_s, self.if_match], act, makes_room=makes_room
        )


Asked = Annotated[OperationRequest, Depends()]


@router.delete(
    "/{name}", operation_id="deletePopulation", status_code=202, response_model=OperationBody
)
def delete_population(asked: Asked) -> Response:
    """Stop its trainer, then remove its rows and files. Games of matches stay."""
    return asked.ask("delete")


Grace = Annotated[
    float | None,
    Query(gt=0, le=3600, description="seconds until a trainer that has not saved is killed"),
]


@router.post(
    "/{name}/start", operation_id="startPopulation", status_code=202, response_model=OperationBody
)
def start(asked: Asked) -> Response:
    """Train from its newest checkpoint, or from the first frame."""
    return asked.ask("start")


@router.post(
    "/{name}/stop", operation_id="stopPopulation", status_code=202, response_model=OperationBody
)
def stop(asked: Asked, grace_s: Grace = None) -> Response:
    """Save, then end its processes."""
    return asked.ask("stop", grace_s)


@router.post(
    "/{name}/pause", operation_id="pausePopulation", status_code=202, response_model=OperationBody
)
def pause(asked: Asked) -> Response:
    """Save, and free the machine until the population is resumed."""
    return asked.ask("pause")


@router.post(
    "/{name}/resume", operation_id="resumePopulation", status_code=202, response_model=OperationBody
)
def resume(asked: Asked) -> Response:
    """Go on after a pause."""
    return asked.ask("resume")
