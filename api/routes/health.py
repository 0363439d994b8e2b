"""Whether the service is alive and ready, its version, and its metrics."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from starlette.responses import PlainTextResponse, Response

from api.context import Context, Here
from api.http.json_response import written
from api.http.problems import Problem
from api.reconcile.reconciler import LATE_S
from arena.machine import versions

router = APIRouter(tags=["service"])


class Alive(BaseModel):
    """The answer of a service that is well.

    status  always "ok"
    """

    status: str = "ok"


@router.head("/livez", include_in_schema=False)
@router.get("/livez", operation_id="livez", response_model=Alive)
async def livez() -> Response:
    """Answer, which shows that the service is alive."""
    return written(Alive())


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", operation_id="readyz", response_model=Alive)
async def readyz(here: Here) -> Response:
    """Whether the league takes rows, the supervisor looks and the disk has room; else 503.

    The problem of a 503 says what is missing.
    """
    if missing := unready(here):
        raise Problem("not-ready", "; ".join(missing), headers={"retry-after": "5"})
    return written(Alive())


@router.get("/version", operation_id="version", response_model=dict[str, str])
def version() -> dict[str, str]:
    """The versions of this program and of the libraries that it computes with."""
    return versions()


@router.get("/metrics", operation_id="metrics", response_class=PlainTextResponse)
def metrics(here: Here) -> Response:
    """The metrics in Prometheus' text format."""
    here.observed.ready.set(not unready(here))
    here.best_ratings.measure()
    return Response(generate_latest(here.observed.registry), media_type=CONTENT_TYPE_LATEST)


def unready(here: Context) -> list[str]:
    """Why the service is not ready. No file names: the caller needs no token."""
    reasons: list[str] = []
    if here.settings.read_only:
        return reasons
    if here.supervisor.late_s > LATE_S:
        reasons.append(f"the supervisor has not looked for {here.supervisor.late_s:.0f} s")
    if here.supervisor.disk == "hard":
        reasons.append("too little free space")
    if (refusal := here.supervisor.refusal) is not None:
        told = refusal.removeprefix(f"league {here.league.path}: ")
        reasons.append(f"the league takes no rows: {told}")
    return reasons
