"""Sessions of browsers: a one-time code is swapped for a cookie.

The token itself never leaves its file.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from api.context import Here
from api.http.problems import Problem
from api.http.tokens import CODE_VALID_S, COOKIE, SESSION_VALID_S, Level
from api.routes.bodies import Body

router = APIRouter(prefix="/v1/session", tags=["session"])


class CodeBody(Body):
    """A login.

    code  of `arena open`, or of the service's start
    """

    code: Annotated[str, Field(min_length=1, max_length=200)]


class WantedCode(Body):
    """A one-time code to make.

    level  of the browser that logs in with it
    """

    level: Literal["viewer", "admin"] = "admin"


class NewCode(BaseModel):
    """A one-time code.

    code     goes behind `#code=` of the service's address; it works once
    valid_s  seconds for which it works
    """

    code: str
    valid_s: float


class SessionBody(BaseModel):
    """What the caller may do.

    level  "viewer" may read everything, "admin" may do everything, "none" must log in
    """

    level: Level


@router.get("", operation_id="getSession", response_model=SessionBody)
def session(request: Request) -> SessionBody:
    """The level of the caller's cookie or token. This needs neither."""
    return SessionBody(level=request.state.level)


@router.post("", operation_id="logIn", status_code=204)
def log_in(here: Here, request: Request, body: CodeBody) -> Response:
    """Swap a code for a cookie, which only this site's own pages send."""
    level = here.tokens.redeem(body.code)
    if level == "none":
        raise Problem(
            "unauthorized", "this code is wrong, used or old; `arena open` makes a new one"
        )
    answer = Response(status_code=204)
    cookie = here.tokens.new_cookie(level)
    answer.set_cookie(
        here.tokens.cookie,
        cookie,
        max_age=int(SESSION_VALID_S),
        path=_cookie_path(request),
        httponly=True,
        samesite="strict",
        # Behind a TLS proxy of this machine, which says so in X-Forwarded-Proto.
        secure=request.url.scheme == "https",
    )
    return answer


@router.delete("", operation_id="logOut", status_code=204)
def log_out(here: Here, request: Request) -> Response:
    """End the session: the cookie is deleted, and is worth nothing any more; its streams end."""
    answer = Response(status_code=204)
    for name in (here.tokens.cookie, COOKIE):
        if name in request.cookies:
            here.tokens.end_session(request.cookies[name], request.state.caller)
    for name in (here.tokens.cookie, COOKIE):
        answer.delete_cookie(name, path=_cookie_path(request), httponly=True, samesite="strict")
    return answer


@router.post("/codes", operation_id="newCode", status_code=201, response_model=NewCode)
def new_code(here: Here, body: WantedCode | None = None) -> NewCode:
    """Make a one-time code, as `arena open` does. Without a body it is an admin's."""
    return NewCode(
        code=here.tokens.new_code("admin" if body is None else body.level), valid_s=CODE_VALID_S
    )


def _cookie_path(request: Request) -> str:
    """Where browsers send the cookie: to this service alone, where its site has others."""
    return str(request.scope.get("root_path", "")) or "/"
