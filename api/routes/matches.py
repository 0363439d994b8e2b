"""Matches over REST, and their games."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Context, Here
from api.http.json_response import written
from api.http.problems import Problem
from api.routes.games import GameList, Wanted, game_list, game_place
from api.routes.pages import Cursor, Limit, Since, Until, read_cursor, write_cursor
from api.routes.rating_bodies import PlayerKind
from arena.league.matches import Match, MatchError, find_match
from arena.league.ordered_pages import ListOrder, MatchFilter, Span, match_page
from arena.league.paging import match_game_page
from arena.matches.match_intervals import MatchInterval
from pbt.objective import ObjectiveKind

router = APIRouter(prefix="/v1/matches", tags=["league"])

MatchId = Annotated[int, Path(ge=1, lt=2**26, description="number of the match")]
Sort = Literal["created", "-created"]
Player = Annotated[
    str | None,
    Query(
        max_length=200,
        pattern=r"^[^\x00]*$",
        description="that plays: a snapshot's id, a scripted player or a guest, a population "
        "(`demo`) or a member (`demo/m0`) of which a snapshot plays",
    ),
]


class MatchPlayerBody(BaseModel):
    """A player of a match.

    kind  what it is
    name  a snapshot's id, or the name of a scripted player or a guest
    """

    kind: PlayerKind
    name: str


class IntervalBody(BaseModel):
    """A 95 % interval.

    low   lower end, null where there is no bound
    high  upper end, null where there is no bound
    """

    low: float | None
    high: float | None


class StandingBody(BaseModel):
    """What a player has of the games of a match that were played so far.

    games        games that it sat in; voided ones count in nothing
    wins         games in which it alone was first
    draws        games in which it was first together with another seat
    losses       games in which another was before it
    mean_return  of a game, the mean over its seats
    interval     where returns count or more than two play: of its mean return where returns or
                 margins decide, else of the share of games in which it alone was first; null as
                 that of the match
    """

    games: int
    wins: int
    draws: int
    losses: int
    mean_return: float
    interval: IntervalBody | None = None


class MatchBody(BaseModel):
    """A match.

    id           its number in the league
    env          the game
    env_options  options of the game
    players      kind and name of each
    standings    what each of `players` has so far, in their order; empty before the first game
    interval     of the first player's score so far, or of the mean margin where margins decide;
                 null where games give none, for more than two players and where returns count
                 (there `standings` have it), in matches of more than 20 000 games, and where a
                 later request will have it
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
    players: list[MatchPlayerBody]
    standings: list[StandingBody]
    interval: IntervalBody | None = None
    games: int
    seed: int
    objective: ObjectiveKind
    settings: dict[str, Any]
    created_at: float
    finished_at: float | None


class MatchList(BaseModel):
    """A page of matches.

    items  in the order that was asked for
    next   the cursor of the next page, null on the last one
    """

    items: list[MatchBody]
    next: str | None


@router.get("", operation_id="listMatches", response_model=MatchList)
def list_matches(
    here: Here,
    env: Annotated[str | None, Query(max_length=200, description="only of this game")] = None,
    finished: Annotated[
        bool | None, Query(description="only those that are over, or only those that are not")
    ] = None,
    player: Player = None,
    since: Since = None,
    until: Until = None,
    sort: Annotated[Sort, Query(description="`-created`: newest first")] = "-created",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Matches that were planned, whether a command or the service plays them."""
    of = f"matches {sort}"
    wanted = MatchFilter(env, finished, player, Span(since, until))
    order = ListOrder("created_at", sort == "-created")
    page, place = match_page(here.league, wanted, order, read_cursor(of, cursor, float, int), limit)
    return written(MatchList(items=match_bodies(here, page), next=write_cursor(of, place)))


@router.get("/{match_id}", operation_id="getMatch", response_model=MatchBody)
def get_match(here: Here, match_id: MatchId) -> MatchBody:
    """One match of the league."""
    (body,) = match_bodies(here, [the_match(here, match_id)])
    return body


@router.get("/{match_id}/games", operation_id="listMatchGames", response_model=GameList)
def list_match_games(
    here: Here,
    match_id: MatchId,
    wanted: Wanted,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Newest first."""
    the_match(here, match_id)
    before = game_place(cursor)
    return written(
        game_list(match_game_page(here.league, match_id, wanted.filter(), before, limit))
    )


def the_match(here: Context, match_id: int) -> Match:
    try:
        return find_match(here.league, match_id)
    except MatchError as error:
        raise Problem("not-found", f"there is no match {match_id}") from error


def _interval(of: MatchInterval | None) -> dict[str, float | None] | None:
    return None if of is None else asdict(of)


def match_bodies(here: Context, matches: Sequence[Match]) -> list[MatchBody]:
    standings = here.standings.of(here.league, matches)
    intervals = here.intervals.of(here.league, matches, standings)
    return [
        MatchBody(
            **{
                **asdict(match),
                "id": str(match.id),
                "env": match.env_name,
                "objective": match.objective,
                "standings": [
                    {**asdict(one), "interval": _interval(of)}
                    for one, of in zip_longest(standings[match.id], intervals[match.id].players)
                ],
                "interval": _interval(intervals[match.id].first),
            }
        )
        for match in matches
    ]
