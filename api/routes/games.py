"""The games of a population, page by page."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Here, made_from_request
from api.http.json_response import written
from api.routes.bodies import PopulationName
from api.routes.pages import Cursor, Limit, read_cursor, write_cursor
from arena.league.game_choice import GameFilter, SeatResult
from arena.league.game_rows import StoredGame
from arena.league.paging import GamePage, population_game_page
from arena.league.snapshot_names import find_snapshot
from pbt.records import GameKind, SeatRecord

router = APIRouter(prefix="/v1/populations", tags=["games"])

GameKey = Annotated[str, Path(pattern=r"^[0-9]{1,19}$", description="the `id` of a game in a list")]
MAX_KEY = 2**63 - 1
GAMES = "games"
MOST_NAMES = 100
Players = Annotated[
    str | None,
    Query(
        max_length=7000,
        pattern=r"^[^\x00]*$",
        description="one of these sat in it, with commas between: members, ids or names of "
        "snapshots (`demo/m0@1.2M`), any snapshot of a member (`demo/m0`), or other players",
    ),
]
Opponents = Annotated[
    str | None,
    Query(
        max_length=7000,
        pattern=r"^[^\x00]*$",
        description="one of these sat in it, too; named as `player`",
    ),
]


class SeatBody(BaseModel):
    """A seat of a game, as `pbt.records.SeatRecord`.

    player_kind    "member", "snapshot", "scripted" or "guest"
    player         a member's name, a snapshot's id, or the name of another player
    generation     of a member: how often it has copied another one
    version_start  of a member: the version of its weights at its first action, null where that is
                   not known
    version_end    of a member: the version of its weights at its last action
    place          0 is best
    returns        the return of the seat
    points         points as the game counts them, null where it does not
    """

    player_kind: str
    player: str
    generation: int
    version_start: int | None
    version_end: int
    place: int
    returns: float
    points: float | None


class GameBody(BaseModel):
    """A game, as `pbt.records.GameRecord`.

    id               the league's number of the game; a text, because it has more digits than a
                     JavaScript number
    number           the number of the game in its population
    incarnation      which start of the trainer played it
    match            the number of its match, null for a game of a training
    kind             "training" or "evaluation"
    seed             of the game; a text, for the same reason
    seats            in order
    steps            decisions of all seats
    frames           tics covered by these decisions, summed over all seats
    end_reason       why it ended
    trajectory_hash  a hash of every seat and action, in order
    opening_plies    how many of the first moves were drawn at random
    greedy           the most likely actions were played
    pair             the number of its pair, null without pairs
    superseded       a resume went back behind this game
    committed_at     seconds since 1970
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
    """A page of games.

    items  newest first
    next   the cursor of the next page, null on the last one
    """

    items: list[GameBody]
    next: str | None


@dataclass(kw_only=True)
class GameQuestion:
    """Which games are asked for, of a population or of a match."""

    here: Here
    player: Players = None
    opponent: Opponents = None
    result: Annotated[
        SeatResult | None,
        Query(
            description="that one of `player` had, or without `player`, any seat: `won` is first "
            "alone, `drawn` first together with another seat, `lost` behind another"
        ),
    ] = None
    shortest: Annotated[
        int, Query(ge=0, le=MAX_KEY, description="of at least so many decisions of all seats")
    ] = 0
    longest: Annotated[
        int | None,
        Query(ge=0, le=MAX_KEY, description="of at most so many decisions of all seats"),
    ] = None

    def filter(
        self,
        kind: GameKind | None = None,
        *,
        voided: bool = True,
        superseded: bool = False,
    ) -> GameFilter:
        """Raises: PlayerError for a snapshot that does not exist."""
        return GameFilter(
            kind,
            self._players(self.player),
            voided=voided,
            superseded=superseded,
            opponents=self._players(self.opponent),
            result=self.result,
            shortest=self.shortest,
            longest=self.longest,
        )

    def _players(self, names: str | None) -> tuple[str, ...]:
        """The names of players, with ids in place of the names of snapshots."""
        return tuple(
            find_snapshot(self.here.league, name, playable=False).record.snapshot_id
            if "/" in name and "@" in name
            else name
            for name in ([] if names is None else names.split(",")[:MOST_NAMES])
        )


Wanted = Annotated[GameQuestion, made_from_request(GameQuestion)]


@router.get("/{name}/games", operation_id="listGames", response_model=GameList)
def list_games(
    here: Here,
    name: PopulationName,
    wanted: Wanted,
    kind: Annotated[
        Literal["training", "evaluation"] | None, Query(description="only games of this kind")
    ] = None,
    voided: Annotated[bool, Query(description="also games that were voided")] = True,
    superseded: Annotated[
        bool, Query(description="also games that a resume went back behind")
    ] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Newest first."""
    games_filter = wanted.filter(kind, voided=voided, superseded=superseded)
    return written(
        game_list(population_game_page(here.league, name, games_filter, game_place(cursor), limit))
    )


def game_place(cursor: str | None) -> int | None:
    """The `before` of a page of games. Raises: Problem for a cursor of another list."""
    place = read_cursor(GAMES, cursor, int)
    return None if place is None else int(place[0])


def game_list(page: GamePage) -> dict[str, Any]:
    """The values of a `GameList`."""
    return {
        "items": [game_body(key, game) for key, game in page.games],
        "next": write_cursor(GAMES, None if page.next is None else [page.next]),
    }


def game_body(key: int, stored: StoredGame) -> dict[str, Any]:
    """The values of a `GameBody`."""
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
    """The values of a `SeatBody`."""
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
