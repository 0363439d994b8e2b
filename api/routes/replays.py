"""One game of the league, and how it was played."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Here
from api.http.problems import Problem
from api.http.written import written
from api.routes.games import MAX_KEY, GameBody, game_body
from api.routes.plays import FULL, SeatedBody, Square
from arena.league.game_names import NamedGame, game_of_key, no_actions
from arena.league.game_rows import StoredGame

router = APIRouter(prefix="/v1/games", tags=["games"])

GameKey = Annotated[str, Path(pattern=r"^[0-9]{1,19}$", description="the `id` of a game in a list")]


class WholeGameBody(GameBody):
    """name: for the command line, `demo:1234` or `match:12:5`;  labels: of the players, by seat

    no_replay  why it cannot be played again, null where that may be tried
    """

    name: str
    env: str
    env_options: dict[str, Any]
    population: str | None
    labels: list[str]
    no_replay: str | None


class ReplaySeatBody(SeatedBody):
    place: int
    returns: float
    points: float | None


class ReplayMoveBody(BaseModel):
    """step: in games where all act at once several moves share one. action: a number, or as many as
    it has parts. opening: nobody chose it.

    rewards  by seat, one for each of `reward_terms`, with the last move of a step;  board: the
             position after it
    """

    step: int
    seat: int
    action: Any
    name: str | None
    square: Square
    opening: bool
    rewards: dict[str, list[float]]
    board: str | None


class ReplayBody(BaseModel):
    """As `arena replay --json`. start: the position before the first move;  grid: rows and columns
    of its squares; both null where none is drawn.

    in_a_row  so many equal marks in a line win, null where something else does
    problems  how the game differs from what was stored of it; none where all is well
    """

    game: str
    env: str
    env_options: dict[str, Any]
    seed: int
    greedy: bool
    opening_plies: int
    seats: list[ReplaySeatBody]
    reward_terms: list[str]
    grid: tuple[int, int] | None
    in_a_row: int | None = None
    start: str | None
    moves: list[ReplayMoveBody]
    end_reason: str
    trajectory_hash: str
    problems: list[str]


@router.get("/{game_id}", operation_id="getGame", response_model=WholeGameBody)
def get_game(here: Here, game_id: GameKey) -> Response:
    named, stored = _game(here, game_id)
    return written(
        {
            **game_body(int(game_id), stored),
            "name": named.name,
            "env": named.env_name,
            "env_options": dict(named.env_options),
            "population": None if stored.match_id is not None else named.name.rpartition(":")[0],
            "labels": [named.labels[seat.player] for seat in named.record.seats],
            "no_replay": no_actions(named),
        }
    )


@router.get(
    "/{game_id}/replay",
    operation_id="replayGame",
    response_model=ReplayBody,
    responses={409: {}, **FULL},
)
def replay_game(here: Here, game_id: GameKey) -> ReplayBody:
    """Played again from its seed and its stored actions, in a process of its own. 404 where
    actions are not kept, 409 where the game's code fails.
    """
    named, _ = _game(here, game_id)
    if (why := no_actions(named)) is not None:
        raise Problem("not-found", why)
    return ReplayBody.model_validate(json.loads(here.replays.report(int(game_id))))


def _game(here: Here, game_id: str) -> tuple[NamedGame, StoredGame]:
    """Raises: PlayerError where the league has none of this number."""
    return game_of_key(here.league, min(int(game_id), MAX_KEY))
