"""Evaluations: matches that the service plays on request, as `arena match` does."""

from dataclasses import asdict
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field, model_validator
from starlette.responses import Response

from api.context import Changing, Here
from api.http.json_response import written
from api.reconcile.asking import refuse_impossible
from api.routes.bodies import Body
from api.routes.pages import Cursor, Limit, read_cursor, write_cursor
from arena.league.idempotency import Answer, Keyed
from arena.league.match_requests import (
    MatchRequest,
    RequestedMatch,
    ask_for_match,
    cancel,
    get_match_request,
    match_request_page,
)
from arena.league.matches import seed_of_games
from arena.matches.lengths import MOST_GAMES
from arena.matches.report_parts import MarginReport
from arena.matches.report_schema import MatchReport
from pbt.objective import ObjectiveKind

router = APIRouter(prefix="/v1/evaluations", tags=["evaluations"])

PLAYER = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}(/[A-Za-z0-9_-]{1,64})?(@[A-Za-z0-9._]{1,32})?$"
ENV = r"^[A-Za-z0-9_]{1,64}(:[A-Za-z0-9_]{1,64})?$"
MAX_ELO = 1000.0
LISTED = "evaluations"
State = Literal["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]
EvaluationId = Annotated[int, Path(ge=1, lt=2**53, description="number of the evaluation")]
Elo = Annotated[float, Field(ge=-MAX_ELO, le=MAX_ELO, allow_inf_nan=False)]


class SprtBody(Body):
    """A sequential test between two differences in normalised Elo; elo0 must be below elo1.

    The match ends as soon as the games decide between them. Each error has a probability of 5 %.

    elo0  the difference under H0
    elo1  the difference under H1
    """

    elo0: Elo
    elo1: Elo

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.elo0 >= self.elo1:
            raise ValueError("elo0 must be below elo1")
        return self


class NewEvaluationBody(Body):
    """A match to play.

    players    `random`, `first@best`, `tag/prey@best` (of one role), `first/m0`, `first/m0@1.2M` or
               a snapshot's id; the score is that of the first
    env        the game; needed only when none of the players was trained
    games      how many games, in pairs or blocks; null: as `arena match` without --games
    seed       the seed of everything random; fresh games have one that is derived from it
    greedy     play the most likely actions instead of sampled ones
    sprt       a sequential test that may end the match early
    objective  what decides between the players: games won, margins or returns; null: what their
               populations count in, or else what the game declares
    fresh      its games count in no rating, and its seeds are those of no other match
    """

    players: Annotated[
        list[Annotated[str, Field(pattern=PLAYER)]], Field(min_length=2, max_length=16)
    ]
    env: Annotated[str, Field(pattern=ENV)] | None = None
    games: Annotated[int, Field(ge=1, le=MOST_GAMES)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    greedy: bool = False
    sprt: SprtBody | None = None
    objective: ObjectiveKind | None = None
    fresh: bool = False


class EvaluationStatistics(BaseModel):
    """The score of the first of two players, from complete pairs of games.

    score             points per game, from 0 to 1
    low, high         95 % interval of the score; with a sequential test it holds at any stop
    elo               the Elo difference, null where it is not finite
    elo_low           lower end of its 95 % interval, null where it is not finite
    elo_high          upper end of its 95 % interval, null where it is not finite
    los               likelihood of superiority, null with a sequential test
    wins              games won
    draws             games drawn
    losses            games lost
    margin            where margins decide, else null
    verdict           the result in words
    """

    score: float
    low: float
    high: float
    elo: float | None
    elo_low: float | None
    elo_high: float | None
    los: float | None
    wins: int
    draws: int
    losses: int
    margin: MarginReport | None = None
    verdict: str


class EvaluationBody(BaseModel):
    """A match that the service plays.

    id           the evaluation's number
    state        PENDING, RUNNING, SUCCEEDED, FAILED or STOPPED
    message      why, for people
    players      as they were named
    env          the game
    seed         the seed that the games are played with
    asked_seed   the seed that was asked for; another one only where games are fresh
    greedy       the most likely actions are played instead of sampled ones
    sprt         the sequential test, null without one
    objective    what decides between the players; null until the match begins, unless it was named
    fresh        its games count in no rating
    games        games played so far
    planned      games planned
    statistics   null before the first complete pair, at larger tables, and for more players
    match        the match's number in the league, from its first game on
    restarts     how often its process ended by itself
    cancelled    it was asked to end
    created_at   seconds since 1970
    finished_at  seconds since 1970, null before its end
    report       as `arena match --json`, for one that is shown alone: so far, or complete
    """

    id: str
    state: State
    message: str
    players: list[str]
    env: str | None
    seed: int
    asked_seed: int
    greedy: bool
    sprt: SprtBody | None
    objective: ObjectiveKind | None
    fresh: bool
    games: int
    planned: int | None
    statistics: EvaluationStatistics | None
    match: str | None
    restarts: int
    cancelled: bool
    created_at: float
    finished_at: float | None
    report: MatchReport | None = None


class EvaluationList(BaseModel):
    """A page of evaluations.

    items  newest first
    next   the cursor of the next page, null on the last one
    """

    items: list[EvaluationBody]
    next: str | None


@router.post("", operation_id="createEvaluation", status_code=202, response_model=EvaluationBody)
def create_evaluation(change: Changing, body: NewEvaluationBody) -> Response:
    """Request a match between players of the league.

    A match that cannot be played is refused: a name without a player, players of different games,
    more or fewer than the game seats, lost weights. Names are resolved again when it begins.
    """
    sprt = None if body.sprt is None else (body.sprt.elo0, body.sprt.elo1)
    requested = RequestedMatch(
        tuple(body.players),
        body.env,
        body.games,
        body.seed,
        body.greedy,
        sprt,
        body.objective,
        body.fresh,
    )

    def act(keyed: Keyed | None) -> Answer:
        refuse_impossible(change.here.settings, "match", asdict(requested))
        return ask_for_match(change.here.league, requested, keyed, _accepted)

    return change.once(body.model_dump(mode="json"), act)


@router.get("", operation_id="listEvaluations", response_model=EvaluationList)
def list_evaluations(
    here: Here,
    state: Annotated[State | None, Query(description="only those in this state")] = None,
    player: Annotated[
        str | None, Query(pattern=PLAYER, description="only those that were asked for with it")
    ] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> EvaluationList:
    """Newest first."""
    before = read_cursor(LISTED, cursor, int)
    rows, more = match_request_page(
        here.league, state, player, None if before is None else before[0], limit
    )
    return EvaluationList(
        items=[evaluation_body(row) for row in rows],
        next=write_cursor(LISTED, None if more is None else [more]),
    )


@router.get("/{evaluation_id}", operation_id="getEvaluation", response_model=EvaluationBody)
def get(here: Here, evaluation_id: EvaluationId) -> Response:
    """One evaluation with its whole report. Poll it, or follow the events of topic `evaluation`."""
    row = get_match_request(here.league, evaluation_id)
    # A report of an earlier version may lack fields, so it is passed on as it is stored.
    return written({**evaluation_body(row).model_dump(mode="json"), "report": row.report})


@router.post(
    "/{evaluation_id}/cancel",
    operation_id="cancelEvaluation",
    status_code=202,
    response_model=EvaluationBody,
)
def cancel_evaluation(change: Changing, evaluation_id: EvaluationId) -> Response:
    """End its process; complete pairs of games stay. An evaluation that is over does not change."""
    return change.once(
        "cancel",
        lambda keyed: cancel(change.here.league, evaluation_id, keyed, _accepted),
        makes_room=True,
    )


def _accepted(row: MatchRequest) -> Answer:
    return Answer(202, f"/v1/evaluations/{row.id}", evaluation_body(row).model_dump_json())


def evaluation_body(row: MatchRequest) -> EvaluationBody:
    requested, report = row.request, row.report or {}
    sprt = requested.sprt
    return EvaluationBody(
        id=str(row.id),
        state=row.state,
        message=row.message,
        players=list(requested.players),
        env=report.get("env", requested.env),
        seed=seed_of_games(requested.seed, fresh=requested.fresh),
        asked_seed=requested.seed,
        greedy=requested.greedy,
        sprt=None if sprt is None else SprtBody(elo0=sprt[0], elo1=sprt[1]),
        objective=report.get("objective", requested.objective),
        fresh=requested.fresh,
        games=report.get("games", 0),
        planned=report.get("planned", requested.games),
        statistics=EvaluationStatistics.model_validate(report)
        if report.get("kind") == "duel"
        else None,
        match=None if row.match_id is None else str(row.match_id),
        restarts=row.restarts,
        cancelled=row.cancelled,
        created_at=row.created_at,
        finished_at=row.finished_at,
    )
