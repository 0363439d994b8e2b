"""One game of the league, and its moves."""

import json
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Context, Here
from api.http.json_response import written
from api.http.problems import Problem
from api.open_values import AnyValue
from api.routes.games import MAX_KEY, GameBody, GameKey, game_body
from api.routes.plays import FULL, SeatedBody, Square
from arena.league.game_names import NamedGame, game_of_key, no_actions
from arena.league.game_rows import StoredGame
from arena.league.matches import find_match
from arena.league.objectives import objective_in_force
from pbt.objective import ObjectiveKind

router = APIRouter(prefix="/v1/games", tags=["games"])


class WholeGameBody(GameBody):
    """A game with what the command line and a replay need.

    name         for the command line: `demo:1234` or `match:12:5`
    env          the game that was played
    env_options  options of that game
    objective    what its results are worth
    population   that played it, null for a game of a match
    labels       names of the players, by seat
    no_replay    why it cannot be played again, null where that may be tried
    """

    name: str
    env: str
    env_options: dict[str, Any]
    objective: ObjectiveKind
    population: str | None
    labels: list[str]
    no_replay: str | None


class ReplaySeatBody(SeatedBody):
    """A seat of a replayed game.

    place    0 is best
    returns  the return of the seat
    points   points as the game counts them, null where it does not
    """

    place: int
    returns: float
    points: float | None


class ReplayMoveBody(BaseModel):
    """A move of a replayed game.

    step     its number; where all seats act at the same time, several moves have the same one
    seat     the number of the seat
    action   a number, or a list with a number for each part of the action
    name     in the game's own words, null where it has none
    square   that it touches, null where it has none
    opening  it was drawn at random to open the game; no player chose it
    rewards  with the last move of a step: by seat, one for each of `reward_terms`
    board    the position after it, null where none is drawn
    """

    step: int
    seat: int
    action: AnyValue
    name: str | None
    square: Square
    opening: bool
    rewards: dict[str, list[float]]
    board: str | None


class ReplayBody(BaseModel):
    """A replayed game, as `arena replay --json`.

    game             its name for the command line
    env              the game that was played
    env_options      options of that game
    seed             the seed of the game
    greedy           the most likely actions were played
    opening_plies    how many of the first moves were drawn at random
    seats            in order
    reward_terms     names of the terms of the reward
    grid             rows and columns of the board, null where there is none
    in_a_row         how many equal marks in a line win, null in other games
    start            the position before the first move, null where none is drawn
    moves            in order
    end_reason       why it ended
    trajectory_hash  a hash of every seat and action, in order
    problems         how the replay differs from what was stored; empty when it does not
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
    """One game, with what is needed to play it again."""
    named, stored = _game(here, game_id)
    population = None if stored.match_id is not None else named.name.rpartition(":")[0]
    return written(
        {
            **game_body(int(game_id), stored),
            "name": named.name,
            "env": named.env_name,
            "env_options": dict(named.env_options),
            "objective": _objective(here, population, stored),
            "population": population,
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
    """Play the game again from its seed and its stored actions, in another process.

    404 where the actions are not stored; 409 where the code of the game fails.
    """
    named, _ = _game(here, game_id)
    if (why := no_actions(named)) is not None:
        raise Problem("not-found", why)
    return ReplayBody.model_validate(json.loads(here.replays.report(int(game_id))))


def _objective(here: Context, population: str | None, stored: StoredGame) -> ObjectiveKind:
    """What results of a game are worth, to its population or its match."""
    if population is not None:
        return objective_in_force(here.league, population, len(stored.record.seats))
    return find_match(here.league, stored.match_id or 0).objective


def _game(here: Here, game_id: str) -> tuple[NamedGame, StoredGame]:
    """The game with this number. Raises: PlayerError when the league has none."""
    return game_of_key(here.league, min(int(game_id), MAX_KEY))
