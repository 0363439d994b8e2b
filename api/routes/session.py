"""A browser logs in: a one-time code becomes a cookie; the token itself never leaves its file."""

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
    code: Annotated[str, Field(min_length=1, max_length=200)]


class WantedCode(Body):
    """level: of the browser that logs in with it"""

    level: Literal["viewer", "admin"] = "admin"


class NewCode(BaseModel):
    """code: to be put behind `#code=` of the service's address, once, within valid_s seconds."""

    code: str
    valid_s: float


class SessionBody(BaseModel):
    """level: "viewer" reads everything, "admin" does everything, "none" has to log in"""

    level: Level


@router.get("", operation_id="getSession", response_model=SessionBody)
def session(request: Request) -> SessionBody:
    """What the caller's cookie or token allows; asking needs neither."""
    return SessionBody(level=request.state.level)


@router.post("", operation_id="logIn", status_code=204)
def log_in(here: Here, body: CodeBody) -> Response:
    """Swap a code for a cookie that only this site's own pages send."""
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
        path="/",
        httponly=True,
        samesite="strict",
    )
    return answer


@router.delete("", operation_id="logOut", status_code=204)
def log_out(here: Here) -> Response:
    """Forget the cookie."""
    answer = Response(status_code=204)
    for name in (here.tokens.cookie, COOKIE):
        answer.delete_cookie(name, path="/", httponly=True, samesite="strict")
    return answer


@router.post("/codes", operation_id="newCode", status_code=201, response_model=NewCode)
def new_code(here: Here, body: WantedCode | None = None) -> NewCode:
    """For `arena open`: an admin's without a body."""
    return NewCode(
        code=here.tokens.new_code("admin" if body is None else body.level), valid_s=CODE_VALID_S
    )
