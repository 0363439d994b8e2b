"""Games by hand: a person plays against a player of the league, move by move."""

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
BEGIN_WAIT_S = 10.0
PlayId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="number of the game by hand")]
Square = Annotated[
    tuple[int | None, int] | None,
    Field(description="row and column; row null: any square of that column"),
]


class NewPlayBody(Body):
    """A game to begin.

    opponent  `random`, `first@best`, `first/m0@1.2M` or a snapshot's id
    env       the game; needed only when the opponent was not trained
    name      the name under which the person is rated
    seat      the person's seat; 0 begins
    seed      null: any
    """

    opponent: Annotated[str, Field(pattern=PLAYER)]
    env: Annotated[str, Field(pattern=ENV)] | None = None
    name: Annotated[str, Field(pattern=NAME)]
    seat: Annotated[int, Field(ge=0, le=1)] = 0
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None


class MoveBody(Body):
    """A move of the person.

    action  one of `legal`
    at      how many moves had been made when it was chosen; it ensures that no move is made twice
    """

    action: Annotated[int, Field(ge=0, lt=2**31)]
    at: Annotated[int, Field(ge=0, lt=2**31)]


class SeatedBody(BaseModel):
    """A player in a seat.

    seat    the game's name for the seat
    player  the player's name
    kind    "snapshot", "scripted" or "guest"
    id      the player's id in the league
    """

    seat: str
    player: str
    kind: Literal["snapshot", "scripted", "guest"]
    id: str


class LegalBody(BaseModel):
    """A move that the person may make.

    action  its number
    name    in the game's own words, null where it has none
    square  that it touches, null where it has none
    """

    action: int
    name: str | None
    square: Square


class PlayedBody(LegalBody):
    """A move that was made.

    seat   the number of the seat that made it
    board  the position after it
    """

    seat: int
    board: str | None


class ResultBody(BaseModel):
    """The end of a game.

    places  by seat; 0 is best
    reason  why it ended
    game    the league's number of the game
    match   the league's number of the match
    """

    places: list[int]
    reason: str
    game: str
    match: str


class PlayBody(BaseModel):
    """A game by hand.

    id        the number of the game by hand
    state     `starting`; `turn`: the person is to move; `thinking`: their move is being answered;
              `over`; `dropped` or `failed`: nothing was stored, `message` says why
    message   why it was dropped or failed
    opponent  as it was named
    name      the person's
    seat      the person's
    env       the game
    seats     null until it has begun
    grid      rows and columns of the board, null where there is none
    in_a_row  how many equal marks in a line win, null in other games
    start     the position before the first move
    moves     made so far
    legal     the moves that the person may make now
    result    null before the end
    idle_s    how long the game waits for the person's next move
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
    """Begin a game. It is stored and rated when it is over.

    Its process takes some seconds to start; after ten of them the answer is `starting`. 422 for
    players that cannot meet at a board.
    """
    values = body.model_dump()
    if body.seed is None:
        values["seed"] = secrets.randbelow(2**31)
    here.refuse_when_full()
    play = here.plays.seated(here.plays.begin(values, body.model_dump(), key), BEGIN_WAIT_S)
    response.headers["location"] = f"/v1/plays/{play.asked['id']}"
    return play_body(play, here.settings.play_idle_s)


@router.get("/{play_id}", operation_id="getPlay", response_model=PlayBody)
def get_play(here: Here, play_id: PlayId) -> PlayBody:
    """The state of the game. It is kept for a while after its end, until the service ends."""
    return play_body(here.plays.find(play_id), here.settings.play_idle_s)


@router.post("/{play_id}/moves", operation_id="makeMove", response_model=PlayBody)
def make_move(here: Here, play_id: PlayId, body: MoveBody) -> PlayBody:
    """Make a move; the answer comes when the opponent has moved, too.

    409 when the person is not to move, or `at` is not the number of moves so far; 422 for an
    illegal move.
    """
    play = here.plays.find(play_id)
    play.say(body.model_dump())
    return play_body(play, here.settings.play_idle_s)


@router.delete("/{play_id}", operation_id="endPlay", response_model=PlayBody)
def end_play(here: Here, play_id: PlayId) -> PlayBody:
    """Resign: the game is lost like that of a guest that forfeits.

    Before the person's first move it is dropped instead. A game that is over does not change.
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
