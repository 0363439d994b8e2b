"""Operations: the state of a request that takes time."""

from typing import Annotated

from fastapi import APIRouter, Path

from api.context import Here
from api.routes.bodies import OperationBody, operation_body
from arena.league.operations import get_operation

OperationId = Annotated[int, Path(ge=1, lt=2**53, description="number of the operation")]

router = APIRouter(prefix="/v1/operations", tags=["operations"])


@router.get("/{operation_id}", operation_id="getOperation", response_model=OperationBody)
def get(here: Here, operation_id: OperationId) -> OperationBody:
    """Poll it until its state is SUCCEEDED, FAILED or STOPPED."""
    return operation_body(get_operation(here.league, operation_id))
