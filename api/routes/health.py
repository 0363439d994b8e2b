"""Is it alive, is it ready, which version, and what Prometheus collects."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from starlette.responses import PlainTextResponse, Response

from api.context import Context, Here
from api.http.problems import Problem
from api.http.written import written
from api.reconcile.reconciler import LATE_S
from arena.host import versions

router = APIRouter(tags=["service"])


class Alive(BaseModel):
    status: str = "ok"


@router.head("/livez", include_in_schema=False)
@router.get("/livez", operation_id="livez", response_model=Alive)
async def livez() -> Response:
    """It answers."""
    return written(Alive())


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", operation_id="readyz", response_model=Alive)
async def readyz(here: Here) -> Response:
    """The league takes rows, the supervisor looks, the disk has room; else 503 with what is
    missing.
    """
    if missing := unready(here):
        raise Problem("not-ready", "; ".join(missing), headers={"retry-after": "5"})
    return written(Alive())


@router.get("/version", operation_id="version", response_model=dict[str, str])
def version() -> dict[str, str]:
    """Of this program and of what it computes with."""
    return versions()


@router.get("/metrics", operation_id="metrics", response_class=PlainTextResponse)
def metrics(here: Here) -> Response:
    """In Prometheus' text format."""
    return Response(generate_latest(here.observed.registry), media_type=CONTENT_TYPE_LATEST)


def unready(here: Context) -> list[str]:
    """Without names of files: whoever asks may be anybody."""
    found = []
    if here.supervisor.late_s > LATE_S:
        found.append(f"the supervisor has not looked for {here.supervisor.late_s:.0f} s")
    if here.supervisor.disk == "hard":
        found.append("too little free space")
    if not here.supervisor.writable:
        found.append("the league takes no rows")
    return found
