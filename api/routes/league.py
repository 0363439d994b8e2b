"""The league over REST: ratings, the win matrix, circles, matches, snapshots.

The ETag of ratings, matrix and circles is the league's revision.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel
from starlette.responses import FileResponse, Response

from api.context import Context, Here, made_from_request
from api.http.json_response import written
from api.http.problems import Problem
from api.routes.etags import KNOWN, IfNoneMatch, tagged_by_league
from api.routes.games import GameList, Limit, game_list, key_cursor
from arena.cli.matrix import matrix_report
from arena.cli.rating_report import league_report
from arena.data.paths import POPULATION_NAME
from arena.league.matches import Match, MatchError, find_match
from arena.league.paging import match_game_page, match_page
from arena.league.ratings import population_table
from arena.league.stored_snapshots import StoredSnapshot, snapshots_of
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind

router = APIRouter(prefix="/v1", tags=["league"])

SNAPSHOT_ID = r"^[0-9a-f]{64}$"
Population = Annotated[
    str,
    Query(
        pattern=f"^{POPULATION_NAME.pattern}$",
        description="the population whose evaluation games count",
    ),
]
Everyone = Annotated[bool, Query(description="together with all other populations of its game")]
MatchId = Annotated[int, Path(ge=1, lt=2**26)]


class SnapshotBody(BaseModel):
    """A frozen copy of a member.

    id           SHA-256 of its weights
    population   that it belongs to
    member       that it was taken of
    role         that it plays
    generation   how often the member had copied another one
    version      of the member's weights
    frames       that the member had trained
    reason       why it was taken
    parent_id    the snapshot that its weights descend from
    size_bytes   of the weights
    is_anchor    its weights are kept for ever
    has_weights  the weights can be fetched
    superseded   a resume went back behind it
    created_at   seconds since 1970
    """

    id: str
    population: str
    member: str
    role: str
    generation: int
    version: int
    frames: int
    reason: str
    parent_id: str | None
    size_bytes: int
    is_anchor: bool
    has_weights: bool
    superseded: bool
    created_at: float


class MatchBody(BaseModel):
    """A match.

    id           its number in the league
    env          the game
    env_options  options of the game
    players      kind and name of each
    games        games planned
    seed         the seed of everything random
    objective    what decides between the players
    settings     further settings of the match; `fresh` where its games count in no rating
    created_at   seconds since 1970
    finished_at  seconds since 1970, null for an unfinished one
    """

    id: str
    env: str
    env_options: dict[str, Any]
    players: list[dict[str, str]]
    games: int
    seed: int
    objective: ObjectiveKind
    settings: dict[str, Any]
    created_at: float
    finished_at: float | None


class MatchList(BaseModel):
    """A page of matches.

    items  newest first
    next   the cursor of the next page, null on the last one
    """

    items: list[MatchBody]
    next: str | None


@dataclass(kw_only=True)
class LeagueQuestion:
    """A question about the results of a population."""

    request: Request
    here: Here
    population: Population
    all: Everyone = False
    if_none_match: IfNoneMatch = None

    def answer(self, report: Callable[[], object]) -> Response:
        return tagged_by_league(self.here, self.request, self.if_none_match, report)


Asked = Annotated[LeagueQuestion, made_from_request(LeagueQuestion)]


@router.get("/ratings", operation_id="getRatings", response_model=dict[str, Any], responses=KNOWN)
def ratings(asked: Asked) -> Response:
    """The rating table as `arena league --json`; where returns count, the mean returns.

    The players are ordered by the lower end of their interval. `objective` says what the numbers
    count, `unit` what follows each. `rank` is within the `role` of a player; a player of any role
    has the role null.
    """
    return asked.answer(
        lambda: league_report(asked.here.league, asked.population, everyone=asked.all)
    )


@router.get(
    "/win-matrix", operation_id="getWinMatrix", response_model=dict[str, Any], responses=KNOWN
)
def win_matrix(asked: Asked) -> Response:
    """The matrix as `arena matrix --json`: every two players that met.

    Where margins count, each pair has its mean margin. Where returns count, there are no pairs.
    """

    def report() -> dict[str, Any]:
        table = population_table(asked.here.league, asked.population, everyone=asked.all)
        return matrix_report(asked.population, table)

    return asked.answer(report)


@router.get("/cycles", operation_id="getCycles", response_model=dict[str, Any], responses=KNOWN)
def cycles(asked: Asked) -> Response:
    """Circles of players that beat each other, and the share of results that no rating explains.

    `objective` says in what they beat each other. Where returns count, there are no circles.
    """

    def report() -> dict[str, Any]:
        table = league_report(asked.here.league, asked.population, everyone=asked.all)
        return {
            "population": asked.population,
            "objective": table["objective"],
            "cycles": table.get("cycles", []),
            "cyclic_share": table.get("cyclic_share"),
        }

    return asked.answer(report)


@router.get("/matches", operation_id="listMatches", response_model=MatchList)
def list_matches(
    here: Here,
    env: Annotated[str | None, Query(max_length=200)] = None,
    finished: bool | None = None,
    limit: Limit = 100,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,15}$")] = None,
) -> MatchList:
    """Newest first."""
    matches, more = match_page(
        here.league,
        env,
        finished=finished,
        before=None if cursor is None else int(cursor),
        limit=limit,
    )
    return MatchList(
        items=[match_body(match) for match in matches], next=None if more is None else str(more)
    )


@router.get("/matches/{match_id}", operation_id="getMatch", response_model=MatchBody)
def getthe_match(here: Here, match_id: MatchId) -> MatchBody:
    """One match of the league."""
    return match_body(the_match(here, match_id))


@router.get("/matches/{match_id}/games", operation_id="listMatchGames", response_model=GameList)
def list_match_games(
    here: Here,
    match_id: MatchId,
    limit: Limit = 100,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,19}$")] = None,
) -> Response:
    """Newest first."""
    the_match(here, match_id)
    return written(game_list(match_game_page(here.league, match_id, key_cursor(cursor), limit)))


def the_match(here: Context, match_id: int) -> Match:
    try:
        return find_match(here.league, match_id)
    except MatchError as error:
        raise Problem("not-found", f"there is no match {match_id}") from error


@router.get("/snapshots/{snapshot_id}", operation_id="getSnapshot", response_model=SnapshotBody)
def get_snapshot(
    here: Here, snapshot_id: Annotated[str, Path(pattern=SNAPSHOT_ID)]
) -> SnapshotBody:
    """One snapshot."""
    return snapshot_body(_snapshot(here, snapshot_id))


@router.get(
    "/snapshots/{snapshot_id}/weights",
    operation_id="getSnapshotWeights",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {}}},
        206: {"description": "the range asked for"},
    },
)
def get_weights(here: Here, snapshot_id: Annotated[str, Path(pattern=SNAPSHOT_ID)]) -> FileResponse:
    """The safetensors file. Ranges are served, so that an interrupted download can go on."""
    stored = _snapshot(here, snapshot_id)
    path = here.paths(stored.population).snapshots / f"{snapshot_id}.safetensors"
    if stored.weights_removed:
        raise Problem(
            "gone", f"the weights of snapshot {snapshot_id[:12]} were removed; its games stay"
        )
    if not here.holds(path):
        lost = f"the weights of snapshot {snapshot_id[:12]} are lost: their file is not there"
        raise Problem("gone", f"{lost}; restore it from a backup; its games stay")
    return FileResponse(
        path, media_type="application/octet-stream", filename=f"{snapshot_id[:12]}.safetensors"
    )


def _snapshot(here: Context, snapshot_id: str) -> StoredSnapshot:
    """The snapshot with this id. Of equal ones in several populations, one that has its weights."""
    with here.league.read() as connection:
        equal = snapshots_of(connection, [snapshot_id])
    if not equal:
        raise PlayerError(f"no snapshot {snapshot_id}")
    return next((stored for stored in equal if not stored.weights_removed), equal[0])


def snapshot_body(stored: StoredSnapshot) -> SnapshotBody:
    return SnapshotBody(
        id=stored.record.snapshot_id,
        population=stored.population,
        is_anchor=stored.is_anchor,
        has_weights=not stored.weights_removed,
        superseded=stored.superseded,
        created_at=stored.created_at,
        **asdict(stored.record),
    )


def match_body(match: Match) -> MatchBody:
    return MatchBody(
        **{
            **asdict(match),
            "id": str(match.id),
            "env": match.env_name,
            "objective": match.objective,
        }
    )
