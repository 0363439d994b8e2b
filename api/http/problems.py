"""Problems: every answer that is not a success, as RFC 9457 `application/problem+json`."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from api.http.root_path import public_path
from arena.data.snapshot_cards import CardError
from arena.league.idempotency import ReusedKeyError
from arena.league.league_file import LeagueError
from arena.league.supervised import ConflictError, PreconditionError
from pbt.errors import ConfigError, HeldError, PbtError, PlayerError

EDITS = "edits"
"""The source of problems in an edit of some values; a whole config has another source."""
DISK_FULL = "database or disk is full"
DAMAGED = "what is stored is damaged; `arena doctor` and `arena verify` say where"
MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:pbt-arena:problem:"
KINDS: Mapping[str, tuple[int, str]] = {
    "bad-request": (400, "The request cannot be read"),
    "bad-host": (400, "This service is not called by that name"),
    "unauthorized": (401, "A token is missing or wrong"),
    "forbidden": (403, "The token does not allow this"),
    "cross-site": (403, "The request comes from another site"),
    "not-found": (404, "There is no such thing"),
    "method-not-allowed": (405, "The resource has no such method"),
    "conflict": (409, "It does not fit the state things are in"),
    "gone": (410, "It was there, and was removed"),
    "precondition-failed": (412, "It was changed since you looked"),
    "too-large": (413, "The body is too large"),
    "unsupported-media-type": (415, "The route takes another type of body"),
    "range": (416, "The file has no such range"),
    "invalid": (422, "The request contradicts the schema"),
    "reused-key": (422, "The Idempotency-Key was used for another request"),
    "too-many-requests": (429, "Too many at the same time"),
    "internal": (500, "A fault of the service"),
    "not-ready": (503, "The service is not ready"),
    "check-failed": (503, "A program of the service gave no answer"),
    "disk-full": (507, "Too little free space"),
}
"""Kind -> (status, title). docs/service.md says what to do about each."""


class ProblemPlace(BaseModel):
    """One thing that is wrong.

    pointer  a JSON pointer into the body, or the name of a parameter
    detail   what is wrong there
    """

    pointer: str
    detail: str


class ProblemBody(BaseModel):
    """An RFC 9457 problem.

    type        `urn:pbt-arena:problem:` and the kind of problem
    title       the kind in words
    status      of the answer
    detail      what is wrong, and what to do
    instance    the path of the request
    request_id  under which the service's log has more
    errors      what is wrong, and where
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[ProblemPlace] = []


class Problem(Exception):
    """An error answer of one of KINDS.

    kind     a key of KINDS
    detail   what is wrong, in one sentence
    errors   (JSON pointer or name of a parameter, what is wrong there)
    headers  further headers of the answer
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.kind, self.detail = kind, detail
        self.errors, self.headers = tuple(errors), dict(headers or {})
        super().__init__(detail)


def problem_bytes(problem: Problem, path: str, request_id: str) -> tuple[int, bytes]:
    """Status and body of a problem, also for bytes that did not become a request."""
    status, title = KINDS[problem.kind]
    errors = [ProblemPlace(pointer=pointer, detail=detail) for pointer, detail in problem.errors]
    body = ProblemBody(
        type=TYPE_PREFIX + problem.kind,
        title=title,
        status=status,
        detail=problem.detail,
        instance=path,
        request_id=request_id,
        errors=errors,
    )
    return status, body.model_dump_json().encode()


def kind_of(status: int) -> str:
    """The kind of a problem of which only the status is known."""
    kind = next((kind for kind, (of_kind, _) in KINDS.items() if of_kind == status), None)
    return kind or ("bad-request" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "internal")


def as_problem(error: Exception, path: str) -> Problem:
    """The problem that an error of a route or of the lower layers is for a caller.

    An error without a case here is a fault of the service and is raised again.
    path: of the request
    """
    # Others write out all of a request's input.
    text = str(error) if isinstance(error, PbtError) else ""
    match error:
        case Problem():
            return error
        case RequestValidationError():
            return validation_problem(error.errors())
        case HTTPException():
            detail = str(error.detail)
            if error.status_code == HTTPStatus.NOT_FOUND and detail == HTTPStatus.NOT_FOUND.phrase:
                detail = f"nothing is at {path}; /openapi.json says what there is"
            return Problem(kind_of(error.status_code), detail, headers=error.headers)
        case PbtError() if DISK_FULL in text:
            return Problem("disk-full", text)
        case ConfigError():
            errors = [
                (place(line, error.source), line.removeprefix("--set ")) for line in error.problems
            ]
            return Problem("invalid", f"{error.source}: {problems_of(errors)}", errors)
        case ReusedKeyError():
            return Problem("reused-key", text)
        case PreconditionError():
            return Problem("precondition-failed", text)
        case CardError():
            return Problem("not-ready", f"an imported snapshot is damaged: {text}")
        case LeagueError() | json.JSONDecodeError() | msgspec.DecodeError() | UnicodeDecodeError():
            return Problem("not-ready", text or DAMAGED, headers={"retry-after": "5"})
        case ConflictError() | HeldError():
            return Problem("conflict", text)
        case PlayerError():
            return Problem("not-found", text)
    raise error


def place(line: str, source: str) -> str:
    """The JSON pointer of a message: `learning.gamma = 2: must be ...` -> "/config/learning/gamma".

    The keys of an edit contain dots, so there it is "/set/learning.gamma".
    """
    key = line.removeprefix("--set ").partition(":")[0].partition(" ")[0].partition("=")[0]
    return (
        "/set/" + key.partition("[")[0].replace("/", "~1")
        if source == EDITS
        else "/config/" + key.replace(".", "/")
    )


def problems_of(errors: Sequence[object]) -> str:
    return "1 problem" if len(errors) == 1 else f"{len(errors)} problems"


def install(app: FastAPI) -> None:
    """Add the handlers that turn every error of a route into a problem."""

    async def answer(request: Request, error: Exception) -> Response:
        path = public_path(request.scope)
        problem = as_problem(error, path)
        if getattr(request.state, "level", None) != "admin":
            data = str(request.app.state.context.settings.data)
            problem.detail = problem.detail.replace(f"{data}/", "").replace(data, "the data")
        status, body = problem_bytes(problem, path, getattr(request.state, "request_id", ""))
        return Response(body, status, headers=problem.headers, media_type=MEDIA_TYPE)

    for kind in (
        Problem,
        PbtError,
        HTTPException,
        RequestValidationError,
        json.JSONDecodeError,
        msgspec.DecodeError,
        UnicodeDecodeError,
    ):
        app.add_exception_handler(kind, answer)


def validation_problem(errors: Sequence[Any]) -> Problem:
    """The problem for pydantic's errors; a body that is not JSON is a "bad-request"."""
    if any(entry["type"] == "json_invalid" for entry in errors):
        return Problem("bad-request", "the body is not JSON")
    places = []
    for entry in errors:
        where, *rest = (str(part) for part in entry["loc"])
        pointer = "/" + "/".join(rest) if where == "body" else ".".join(rest) or where
        places.append((pointer, str(entry["msg"])))
    return Problem("invalid", problems_of(places), places)
