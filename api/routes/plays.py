"""Sitting down at a board: a person against a player of the league, move by move."""

import secrets
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from api.context import Here, KeyHeader
from api.reconcile.plays import Play
from api.routes.bodies import Body
from api.routes.evaluations import ENV, PLAYER

router = APIRouter(prefix="/v1/plays", tags=["plays"])

NAME = r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}$"
BEGIN_WAIT_S = 0.2
PlayId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]
Square = Annotated[
    tuple[int | None, int] | None,
    Field(description="row and column; row null: somewhere in that column"),
]


class NewPlayBody(Body):
    """opponent: `random`, `first@best`, `first/m0@1.2M`, a snapshot's id. env: where nobody was
    trained. name: the person's, under which the game is rated. seat: theirs, 0 begins. seed: null:
    any.
    """

    opponent: Annotated[str, Field(pattern=PLAYER)]
    env: Annotated[str, Field(pattern=ENV)] | None = None
    name: Annotated[str, Field(pattern=NAME)]
    seat: Annotated[int, Field(ge=0, le=1)] = 0
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None


class MoveBody(Body):
    """at: how many moves had been made when it was chosen, so that none is made twice."""

    action: Annotated[int, Field(ge=0, lt=2**31)]
    at: Annotated[int, Field(ge=0, lt=2**31)]


class SeatedBody(BaseModel):
    """seat: as the game calls it;  player: its name;  id: as the league knows it"""

    seat: str
    player: str
    kind: Literal["snapshot", "scripted", "guest"]
    id: str


class LegalBody(BaseModel):
    """name: in the game's own words, null where it has none."""

    action: int
    name: str | None
    square: Square


class PlayedBody(LegalBody):
    """board: the position after it."""

    seat: int
    board: str | None


class ResultBody(BaseModel):
    """places: by seat, 0 is best;  game, match: as the league keeps them"""

    places: list[int]
    reason: str
    game: str
    match: str


class PlayBody(BaseModel):
    """A game by hand.

    state     `turn`: the person's;  `thinking`: their last move is being answered;  `dropped`,
              `failed`: nothing was stored, `message` says why
    seats     null until it has begun;  start: the position before the first move;  grid: rows and
              columns of its squares, null where it has none
    in_a_row  so many equal marks in a line win, null where something else does
    legal     what the person may play now
    """

    id: str
    state: Literal["starting", "turn", "thinking", "over", "dropped", "failed"]
    message: str
    opponent: str
    name: str
    seat: int
    env: str | None
    seats: list[SeatedBody] | None
    grid: tuple[int, int] | None
    in_a_row: int | None
    start: str | None
    moves: list[PlayedBody]
    legal: list[LegalBody]
    result: ResultBody | None
    idle_s: float


FULL: dict[int | str, dict[str, Any]] = {429: {"description": "too many games are being played"}}


@router.post(
    "", operation_id="createPlay", status_code=201, response_model=PlayBody, responses=FULL
)
def create_play(
    response: Response, here: Here, body: NewPlayBody, key: KeyHeader = None
) -> PlayBody:
    """Begin. Its process takes some seconds to start; who cannot meet makes it `failed`. The
    game is stored when it is over, and rated.
    """
    asked = body.model_dump()
    if body.seed is None:
        asked["seed"] = secrets.randbelow(2**31)
    here.refuse_when_full()
    play = here.plays.begin(asked, body.model_dump(), key)
    play.wait_seen(BEGIN_WAIT_S)
    response.headers["location"] = f"/v1/plays/{play.asked['id']}"
    return play_body(play, here.settings.play_idle_s)


@router.get("/{play_id}", operation_id="getPlay", response_model=PlayBody)
def get_play(here: Here, play_id: PlayId) -> PlayBody:
    """How it stands. It is kept for a while when it is over, and gone when the service ends."""
    return play_body(here.plays.find(play_id), here.settings.play_idle_s)


@router.post("/{play_id}/moves", operation_id="makeMove", response_model=PlayBody)
def make_move(here: Here, play_id: PlayId, body: MoveBody) -> PlayBody:
    """Answered when the opponent has moved, too. 409 when it is not the person's turn, or
    another move than the `at`-th; 422 for an illegal one.
    """
    play = here.plays.find(play_id)
    play.say(body.model_dump())
    return play_body(play, here.settings.play_idle_s)


@router.delete("/{play_id}", operation_id="endPlay", response_model=PlayBody)
def end_play(here: Here, play_id: PlayId) -> PlayBody:
    """Resign: the game is lost, as a guest's who forfeits; before the person's first move it is
    dropped. Of one that is over nothing changes.
    """
    play = here.plays.find(play_id)
    play.resign()
    return play_body(play, here.settings.play_idle_s)


def play_body(play: Play, idle_s: float) -> PlayBody:
    standing: Any = play.standing or {}
    return PlayBody(
        id=play.asked["id"],
        state=play.state,
        message=play.message,
        opponent=play.asked["opponent"],
        name=play.asked["name"],
        seat=play.asked["seat"],
        env=standing.get("env", play.asked["env"]),
        seats=standing.get("seats"),
        grid=standing.get("grid"),
        in_a_row=standing.get("in_a_row"),
        start=standing.get("start"),
        moves=standing.get("moves", []),
        legal=standing.get("legal", []) if play.state == "turn" else [],
        result=standing.get("result"),
        idle_s=idle_s,
    )
