"""Jobs: work other than single matches that the service does on request, in its own processes."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Changing, Context, Here
from api.http.json_response import written
from api.http.problems import Problem
from api.reconcile.asking import refuse_impossible
from api.routes.job_bodies import NewJobBody, VerificationBody
from api.routes.job_reports import (
    ComparisonReport,
    ReturnsReportBody,
    TournamentReport,
    VerificationReport,
)
from api.routes.pages import Cursor, Limit, read_cursor, write_cursor
from arena.data.paths import IMPORTED
from arena.league.idempotency import Answer, Keyed
from arena.league.job_requests import (
    JobKind,
    JobRequest,
    JobState,
    ask_for_job,
    cancel_job,
    get_job,
    job_page,
)
from arena.league.matches import MatchError, find_match
from arena.league.populations import find_population

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

LISTED = "jobs"
JobId = Annotated[int, Path(ge=1, lt=2**53, description="number of the job")]


class ProgressBody(BaseModel):
    """How much of one part of the work is done.

    what   the part
    done   how much of it is done
    total  how much there is, null where that is not known
    """

    what: str
    done: int
    total: int | None


class JobBody(BaseModel):
    """Work that was requested.

    id           the job's number
    kind         of work
    asked        what was asked for; `kind` says what it is
    state        PENDING, RUNNING, SUCCEEDED, FAILED or STOPPED
    message      why, for people
    progress     how far its parts are
    report       the result, null before its end: of a verification, a tournament, returns, or a
                 comparison. A job SUCCEEDED that found differences, or that A is worse
    restarts     how often its process ended by itself
    cancelled    it was asked to end
    created_at   seconds since 1970
    finished_at  seconds since 1970, null before its end
    """

    id: str
    kind: JobKind
    asked: NewJobBody
    state: JobState
    message: str
    progress: list[ProgressBody]
    report: VerificationReport | TournamentReport | ReturnsReportBody | ComparisonReport | None
    restarts: int
    cancelled: bool
    created_at: float
    finished_at: float | None


class JobList(BaseModel):
    """A page of jobs.

    items  newest first
    next   the cursor of the next page, null on the last one
    """

    items: list[JobBody]
    next: str | None


UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "there is nothing of this name"}}


@router.post(
    "", operation_id="createJob", status_code=202, response_model=JobBody, responses=UNKNOWN
)
def create_job(change: Changing, body: NewJobBody) -> Response:
    """Request work. It waits for its turn in one queue with the matches.

    A comparison waits for a place to train. 404 where there is nothing of this name to verify; 422
    for players that cannot meet and configs that cannot be compared.
    """
    work = body.root

    def act(keyed: Keyed | None) -> Answer:
        asked = work.model_dump(mode="json")
        if isinstance(work, VerificationBody):
            _refuse_unknown(change.here, work.name)
        else:
            refuse_impossible(change.here.settings, work.kind, asked)
        return ask_for_job(change.here.league, work.kind, asked, keyed, _accepted)

    return change.once(work.model_dump(mode="json"), act)


def _refuse_unknown(here: Context, name: str) -> None:
    """Raises: PlayerError or Problem for a name without a chain."""
    if name == IMPORTED:
        return
    if name.startswith("match:"):
        try:
            find_match(here.league, int(name.removeprefix("match:")))
        except MatchError as error:
            raise Problem("not-found", f"there is no {name}") from error
        return
    with here.league.read() as connection:
        find_population(connection, name)


@router.get("", operation_id="listJobs", response_model=JobList)
def list_jobs(
    here: Here,
    kind: Annotated[JobKind | None, Query(description="only those of this kind")] = None,
    state: Annotated[JobState | None, Query(description="only those in this state")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Newest first."""
    before = read_cursor(LISTED, cursor, int)
    rows, more = job_page(here.league, kind, state, None if before is None else before[0], limit)
    items = [job_body(row) for row in rows]
    return written({"items": items, "next": write_cursor(LISTED, None if more is None else [more])})


@router.get("/{job_id}", operation_id="getJob", response_model=JobBody)
def get(here: Here, job_id: JobId) -> Response:
    """One job. Poll it, or follow the events of topic `job`."""
    return written(job_body(get_job(here.league, job_id)))


@router.post("/{job_id}/cancel", operation_id="cancelJob", status_code=202, response_model=JobBody)
def cancel(change: Changing, job_id: JobId) -> Response:
    """End its process. A job that is over does not change."""
    return change.once(
        "cancel",
        lambda keyed: cancel_job(change.here.league, job_id, keyed, _accepted),
        makes_room=True,
    )


def _accepted(row: JobRequest) -> Answer:
    text = JobBody.model_validate(job_body(row)).model_dump_json()
    return Answer(202, f"/v1/jobs/{row.id}", text)


def job_body(row: JobRequest) -> dict[str, Any]:
    """The values of a `JobBody`."""
    told = row.report or {"progress": [], "report": None}
    return {
        "id": str(row.id),
        "kind": row.kind,
        "asked": dict(row.asked),
        "state": row.state,
        "message": row.message,
        "progress": told["progress"],
        "report": told["report"],
        "restarts": row.restarts,
        "cancelled": row.cancelled,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
    }
