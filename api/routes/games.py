"""Games, page by page."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Here
from api.http.written import written
from api.routes.bodies import NAME_PATTERN
from arena.league.game_rows import GameFilter, StoredGame
from arena.league.pages import GamePage, population_game_page
from pbt.records import SeatRecord

router = APIRouter(prefix="/v1/populations", tags=["games"])

Limit = Annotated[int, Query(ge=1, le=500)]
MAX_KEY = 2**63 - 1


class SeatBody(BaseModel):
    """As `pbt.records.SeatRecord`: place 0 is best."""

    player_kind: str
    player: str
    generation: int
    version_start: int
    version_end: int
    place: int
    returns: float
    points: float | None


class GameBody(BaseModel):
    """As `pbt.records.GameRecord`. id: the league's, as text, since it has more digits than a
    JavaScript number.
    """

    id: str
    number: int
    incarnation: int | None
    match: str | None
    kind: Literal["training", "evaluation"]
    seed: str
    seats: list[SeatBody]
    steps: int
    frames: int
    end_reason: str
    trajectory_hash: str
    opening_plies: int
    greedy: bool
    pair: int | None
    superseded: bool
    committed_at: float


class GameList(BaseModel):
    items: list[GameBody]
    next: str | None


@router.get("/{name}/games", operation_id="listGames", response_model=GameList)
def list_games(
    here: Here,
    name: Annotated[str, Path(pattern=NAME_PATTERN)],
    kind: Literal["training", "evaluation"] | None = None,
    player: Annotated[
        str | None,
        Query(max_length=200, description="seated: a member, a snapshot's id, a scripted player"),
    ] = None,
    voided: Annotated[bool, Query(description="also those that were voided")] = True,
    superseded: Annotated[bool, Query(description="also those that a resume took back")] = False,
    limit: Limit = 100,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,19}$")] = None,
) -> Response:
    """Newest first."""
    wanted = GameFilter(kind, player, voided=voided, superseded=superseded)
    return written(
        game_list(population_game_page(here.league, name, wanted, key_cursor(cursor), limit))
    )


def key_cursor(cursor: str | None) -> int | None:
    return None if cursor is None else min(int(cursor), MAX_KEY)


def game_list(page: GamePage) -> dict[str, Any]:
    """As `GameList`."""
    return {
        "items": [game_body(key, game) for key, game in page.games],
        "next": None if page.next is None else str(page.next),
    }


def game_body(key: int, stored: StoredGame) -> dict[str, Any]:
    """As `GameBody`."""
    game = stored.record
    return {
        "id": str(key),
        "number": game.number,
        "incarnation": stored.incarnation,
        "match": None if stored.match_id is None else str(stored.match_id),
        "kind": game.kind,
        "seed": str(game.seed),
        "seats": [seat_body(seat) for seat in game.seats],
        "steps": game.steps,
        "frames": game.frames,
        "end_reason": game.end_reason,
        "trajectory_hash": game.trajectory_hash,
        "opening_plies": game.opening_plies,
        "greedy": game.greedy,
        "pair": game.pair,
        "superseded": stored.superseded,
        "committed_at": stored.committed_at,
    }


def seat_body(seat: SeatRecord) -> dict[str, Any]:
    """As `SeatBody`."""
    return {
        "player_kind": seat.player.kind,
        "player": seat.player.name,
        "generation": seat.generation,
        "version_start": seat.version_start,
        "version_end": seat.version_end,
        "place": seat.place,
        "returns": seat.returns,
        "points": seat.points,
    }
