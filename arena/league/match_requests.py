"""Requests to the service to play a match, from the request to its end.

The games belong to a match like any other (`arena.league.matches`). The table and the events call a
request an "evaluation". Each function takes one short transaction.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, Connection, exists, func, select, update

from arena.league.database import League, insert_row, newest_rows
from arena.league.idempotency import Answer, Keyed, answer_once
from arena.league.job_requests import kind_of_job
from arena.league.rows import from_row, to_json
from arena.league.schema import evaluations
from arena.league.service_events import tell
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind

MatchRequestState = Literal["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]
OPEN: tuple[MatchRequestState, ...] = ("PENDING", "RUNNING")
OF_A_MATCH = kind_of_job.is_(None)
POINT = ("games", "planned", "objective", "score", "low", "high", "margin")


@dataclass(frozen=True, slots=True)
class RequestedMatch:
    """The match that was requested.

    players    names of players, A first
    env        the game, where no player is a snapshot
    games      how many; None: as many as `arena match` plays
    seed       seed of the match
    greedy     whether players take the most likely action
    sprt       (elo0, elo1) of a sequential test that ends the match, None without one
    objective  what decides between the players; None: what their populations count in, or else
               what the game declares
    fresh      whether its games count in no rating
    """

    players: tuple[str, ...]
    env: str | None
    games: int | None
    seed: int
    greedy: bool
    sprt: tuple[float, float] | None
    # Stored requests of earlier versions name neither of these.
    objective: ObjectiveKind | None = None
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """A requested match as the service sees it. Times are seconds since the epoch.

    id           number of the request
    request      the match that was requested
    cancelled    whether it was cancelled
    state        how far it is
    message      the same for people
    restarts     starts in a row that ended by themselves without a new game
    process      identity of the process that plays it, None when none does
    match_id     number of the match, None before it is made
    report       as `arena match --json` (docs/schemas/match.json), of the games so far
    created_at   when it was requested
    finished_at  when it ended, None before
    """

    id: int
    request: RequestedMatch
    cancelled: bool
    state: MatchRequestState
    message: str
    restarts: int
    process: str | None
    match_id: int | None
    report: Mapping[str, Any] | None
    created_at: float
    finished_at: float | None


# --- requests -------------------------------------------------------------------------------------


def ask_for_match(
    league: League,
    request: RequestedMatch,
    keyed: Keyed | None,
    render: Callable[[MatchRequest], Answer],
) -> Answer:
    """Stores a request. Raises: ReusedKeyError."""

    def act(connection: Connection) -> Answer:
        made_id = insert_row(
            connection,
            evaluations,
            request=to_json(asdict(request)),
            cancelled=0,
            state="PENDING",
            message="waits for its turn",
            restarts=0,
            created_at=time.time(),
        )
        made = _request(connection, made_id)
        _tell(connection, made)
        return render(made)

    return answer_once(league, keyed, act)


def cancel(
    league: League,
    request_id: int,
    keyed: Keyed | None,
    render: Callable[[MatchRequest], Answer],
) -> Answer:
    """Cancels a request; its games stay. A request that has ended does not change.

    Raises: PlayerError when there is none of this number, ReusedKeyError.
    """

    def act(connection: Connection) -> Answer:
        mine = (
            evaluations.c.id == _request(connection, request_id).id,
            evaluations.c.state.in_(OPEN),
        )
        connection.execute(update(evaluations).where(*mine).values(cancelled=1))
        return render(_request(connection, request_id))

    return answer_once(league, keyed, act)


# --- progress -------------------------------------------------------------------------------------


def note_match(league: League, request_id: int, match_id: int) -> None:
    """Stores which match belongs to a request, before its first game.

    The process that plays the match calls it, so that a later process resumes the same match.
    """
    with league.write() as connection:
        connection.execute(
            update(evaluations).where(evaluations.c.id == request_id).values(match_id=match_id)
        )


def record_match_request(
    league: League,
    request: MatchRequest,
    state: MatchRequestState,
    message: str,
    restarts: int,
    process: str | None,
    report: Mapping[str, Any] | None,
) -> None:
    """Stores what the service observed, as an event as well. report: None keeps the stored one."""
    values: dict[str, Any] = {
        "state": state,
        "message": message,
        "restarts": restarts,
        "process": process,
    }
    if report is not None:
        values["report"] = to_json(report)
    if state not in OPEN:
        values["finished_at"] = time.time()
    with league.write() as connection:
        connection.execute(
            update(evaluations).where(evaluations.c.id == request.id).values(**values)
        )
        _tell(connection, _request(connection, request.id))


def _tell(connection: Connection, request: MatchRequest) -> None:
    """Adds an event that holds what a page needs to draw the next point of a match."""
    report = request.report or {}
    shown = {name: report.get(name) for name in POINT}
    tell(
        connection,
        "evaluation",
        "",
        {
            "id": str(request.id),
            "state": request.state,
            "message": request.message,
            **shown,
        },
    )


# --- reading --------------------------------------------------------------------------------------


def get_match_request(league: League, request_id: int) -> MatchRequest:
    """One request. Raises: PlayerError when there is none of this number."""
    with league.read() as connection:
        return _request(connection, request_id)


def open_match_requests(league: League) -> list[MatchRequest]:
    """The requests that have not ended, oldest first."""
    where = evaluations.c.state.in_(OPEN), OF_A_MATCH
    with league.read() as connection:
        rows = connection.execute(select(evaluations).where(*where).order_by(evaluations.c.id))
        return [_to_request(row) for row in rows]


def match_request_page(
    league: League,
    state: MatchRequestState | None,
    player: str | None,
    before: int | None,
    limit: int,
) -> tuple[list[MatchRequest], int | None]:
    """(a page of requests, newest first; the number before which the next page begins or None).

    state   only those in this state; None: all
    player  only those that name this player; None: all
    """
    where: list[ColumnElement[bool]] = [OF_A_MATCH]
    if state is not None:
        where.append(evaluations.c.state == state)
    if player is not None:
        named = func.json_each(evaluations.c.request, "$.players").table_valued("value")
        where.append(exists(select(1).select_from(named).where(named.c.value == player)))
    rows, next_before = newest_rows(league, evaluations, where, before, limit)
    return [_to_request(row) for row in rows], next_before


def _request(connection: Connection, request_id: int) -> MatchRequest:
    mine = evaluations.c.id == request_id, OF_A_MATCH
    row = connection.execute(select(evaluations).where(*mine)).first()
    if row is None:
        raise PlayerError(f"no evaluation {request_id}")
    return _to_request(row)


def _to_request(row: Any) -> MatchRequest:
    return from_row(
        MatchRequest,
        row,
        request=_REQUEST.decode(row.request),
        cancelled=bool(row.cancelled),
        report=None if row.report is None else json.loads(row.report),
    )


_REQUEST = msgspec.json.Decoder(RequestedMatch)


def reports_of_match(league: League, match_id: int) -> list[tuple[int, Mapping[str, Any]]]:
    """(number of the request, its report) of every request that played a match and reports."""
    mine = (evaluations.c.match_id == match_id, evaluations.c.report.is_not(None))
    with league.read() as connection:
        rows = connection.execute(select(evaluations).where(*mine).order_by(evaluations.c.id)).all()
    return [(row.id, json.loads(row.report)) for row in rows]
