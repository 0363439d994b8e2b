"""Sessions of browsers: a one-time code or a token is swapped for a cookie.

The cookie holds neither. The session ends with the token that gave it or asked for its code.
"""

import time
from typing import Annotated, Any, Self

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.responses import Response

from api.context import Here
from api.http.problems import Problem
from api.http.tokens import CODE_VALID_S, COOKIE, RANK, Grant, Level
from api.routes.bodies import Body
from arena.data.service_tokens import TokenLevel

router = APIRouter(prefix="/v1/session", tags=["session"])


def _say_either(schema: dict[str, Any]) -> None:
    """Write into the schema of a login that it has one of its fields."""
    for field in schema["properties"].values():
        del field["default"]
    schema["oneOf"] = [{"required": [name]} for name in schema["properties"]]


class LoginBody(Body):
    """A login, by a code or by a token.

    code   of `arena open`, or of the service's start
    token  of `arena token create`, of a link, or of a file
    """

    model_config = ConfigDict(json_schema_extra=_say_either)

    code: Annotated[str, Field(min_length=1, max_length=200)] = ""
    token: Annotated[str, Field(min_length=1, max_length=500)] = ""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if bool(self.code) == bool(self.token):
            raise ValueError("expected either code or token")
        return self


class WantedCode(Body):
    """A one-time code to make.

    level  of the browser that logs in with it
    """

    level: TokenLevel = "admin"


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
def log_in(here: Here, request: Request, body: LoginBody) -> Response:
    """Swap a code or a token for a cookie, which only this site's own pages send.

    A viewer's token does not replace an admin's session: a link takes no right away.
    """
    answer = Response(status_code=204)
    if body.code:
        grant = here.tokens.redeem(body.code)
        refused = "this code is wrong, used or old; `arena open` makes a new one"
    else:
        grant = here.tokens.bearer(body.token)
        refused = (
            "this token is wrong, expired or revoked; `arena token list` shows which there are"
        )
    if grant is None:
        raise Problem("unauthorized", refused)
    now: Grant | None = getattr(request.state, "grant", None)
    if body.token and now is not None and now.session and RANK[now.level] > RANK[grant.level]:
        return answer
    cookie, session = here.tokens.new_session(grant)
    request.state.by = session.by
    answer.set_cookie(
        here.tokens.cookie,
        cookie,
        max_age=int(session.until - time.time()),
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
            here.tokens.end_session(request.cookies[name])
    for name in (here.tokens.cookie, COOKIE):
        answer.delete_cookie(name, path=_cookie_path(request), httponly=True, samesite="strict")
    return answer


@router.post("/codes", operation_id="newCode", status_code=201, response_model=NewCode)
def new_code(here: Here, request: Request, body: WantedCode | None = None) -> NewCode:
    """Make a one-time code, as `arena open` does. Without a body it is an admin's."""
    level = "admin" if body is None else body.level
    return NewCode(code=here.tokens.new_code(request.state.grant, level), valid_s=CODE_VALID_S)


def _cookie_path(request: Request) -> str:
    """Where browsers send the cookie: to this service alone, where its site has others."""
    return str(request.scope.get("root_path", "")) or "/"
