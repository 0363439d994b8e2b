"""Every answer that is not a success: RFC 9457, `application/problem+json`."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from arena.league.answers import ReusedKeyError
from arena.league.supervised import ConflictError, PreconditionError
from pbt.errors import ConfigError, HeldError, PbtError, PlayerError

EDITS = "edits"
"""The source of problems in values that are set, not in a whole config."""
DISK_FULL = "database or disk is full"
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
    "unsupported-media-type": (415, "The body must be application/json"),
    "range": (416, "The file has no such range"),
    "invalid": (422, "The request contradicts the schema"),
    "reused-key": (422, "The Idempotency-Key was used for another request"),
    "too-many-requests": (429, "Too many at the same time"),
    "internal": (500, "A fault of the service"),
    "not-ready": (503, "The service is not ready"),
    "disk-full": (507, "Too little free space"),
}
"""Kind -> status and title. docs/service.md says what to do about each."""


class ProblemBody(BaseModel):
    """RFC 9457. errors: what is wrong where, as JSON pointers into the body, or names of
    parameters.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[dict[str, str]] = []


class Problem(Exception):
    """An answer of one of KINDS. errors: (pointer or parameter, what is wrong)."""

    def __init__(
        self,
        kind: str,
        detail: str,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.kind, self.detail, self.errors, self.headers = (
            kind,
            detail,
            tuple(errors),
            dict(headers or {}),
        )
        super().__init__(detail)


def problem_bytes(problem: Problem, path: str, request_id: str) -> tuple[int, bytes]:
    """Status and body, also for what is refused before there is a request."""
    status, title = KINDS[problem.kind]
    said = [{"pointer": pointer, "detail": detail} for pointer, detail in problem.errors]
    body = ProblemBody(
        type=TYPE_PREFIX + problem.kind,
        title=title,
        status=status,
        detail=problem.detail,
        instance=path,
        request_id=request_id,
        errors=said,
    )
    return status, body.model_dump_json().encode()


def kind_of(status: int) -> str:
    """The general kind of a status."""
    found = next((kind for kind, (known, _) in KINDS.items() if known == status), None)
    return found or ("bad-request" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "internal")


def respond(request: Request, problem: Problem) -> Response:
    status, body = problem_bytes(
        problem, request.url.path, getattr(request.state, "request_id", "")
    )
    return Response(body, status, headers=problem.headers, media_type=MEDIA_TYPE)


def as_problem(error: PbtError) -> Problem:
    """What an error of the layers below is to a caller. One that nobody foresaw is a fault of
    the service, raised again.
    """
    text = str(error)
    if DISK_FULL in text:
        return Problem("disk-full", text)
    match error:
        case ConfigError():
            said = [
                (place(line, error.source), line.removeprefix("--set ")) for line in error.problems
            ]
            return Problem("invalid", f"{error.source}: {problems_of(said)}", said)
        case ReusedKeyError():
            return Problem("reused-key", text)
        case PreconditionError():
            return Problem("precondition-failed", text)
        case ConflictError() | HeldError():
            return Problem("conflict", text)
        case PlayerError():
            return Problem("not-found", text)
    raise error


def place(line: str, source: str) -> str:
    """`learning.gamma = 2: must be ...` -> "/config/learning/gamma"; in edits, whose keys have
    dots in them, "/set/learning.gamma".
    """
    key = line.removeprefix("--set ").partition(":")[0].partition(" ")[0].partition("=")[0]
    return (
        "/set/" + key.partition("[")[0].replace("/", "~1")
        if source == EDITS
        else "/config/" + key.replace(".", "/")
    )


def problems_of(said: Sequence[object]) -> str:
    return "1 problem" if len(said) == 1 else f"{len(said)} problems"


def install(app: FastAPI) -> None:
    """Turn every error into a problem."""

    async def own(request: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return respond(request, error)

    async def below(request: Request, error: Exception) -> Response:
        assert isinstance(error, PbtError)
        return respond(request, as_problem(error))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        said = str(error.detail)
        if error.status_code == HTTPStatus.NOT_FOUND and said == HTTPStatus.NOT_FOUND.phrase:
            said = f"nothing is at {request.url.path}; /openapi.json says what there is"
        return respond(request, Problem(kind_of(error.status_code), said, headers=error.headers))

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return respond(request, validation_problem(error.errors()))

    for kind, handler in (
        (Problem, own),
        (PbtError, below),
        (HTTPException, http),
        (RequestValidationError, invalid),
    ):
        app.add_exception_handler(kind, handler)


def validation_problem(errors: Sequence[Any]) -> Problem:
    """What pydantic found: a body that is no JSON is a bad request, one of another content type
    an unsupported one.
    """
    if any(entry["type"] == "json_invalid" for entry in errors):
        return Problem("bad-request", "the body is not JSON")
    said = []
    for entry in errors:
        where, *rest = (str(part) for part in entry["loc"])
        said.append(
            (
                "/" + "/".join(rest) if where == "body" else ".".join(rest) or where,
                str(entry["msg"]),
            )
        )
    return Problem("invalid", problems_of(said), said)
