"""Requests to the service for work that a process of its own does, other than a match.

They stand in the table of match requests, so that all of them wait in one queue and have one kind
of number. Each function takes one short transaction.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import Connection, func, select, update

from arena.league.database import League, insert_row, newest_rows
from arena.league.idempotency import Answer, Keyed, answer_once
from arena.league.rows import from_row, to_json
from arena.league.schema import evaluations
from arena.league.service_events import tell
from pbt.errors import HeldError, PlayerError

JobKind = Literal["verification", "tournament", "returns", "comparison"]
KINDS: tuple[JobKind, ...] = get_args(JobKind)
JobState = Literal["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]
OPEN: tuple[JobState, ...] = ("PENDING", "RUNNING")

kind_of_job = func.json_extract(evaluations.c.request, "$.job")
"""SQL: the kind of a request; null for one of a match."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Work that was requested, as the service sees it. Times are seconds since the epoch.

    id           number of the request
    kind         kind of work
    asked        what was asked for, by its kind
    cancelled    whether it was cancelled
    state        how far it is
    message      the same for people
    restarts     starts in a row that ended by themselves
    process      identity of the process that works on it, None when none does
    report       what that process wrote last
    created_at   when it was requested
    finished_at  when it ended, None before
    """

    id: int
    kind: JobKind
    asked: Mapping[str, Any]
    cancelled: bool
    state: JobState
    message: str
    restarts: int
    process: str | None
    report: Mapping[str, Any] | None
    created_at: float
    finished_at: float | None


def ask_for_job(
    league: League,
    kind: JobKind,
    asked: Mapping[str, Any],
    keyed: Keyed | None,
    render: Callable[[JobRequest], Answer],
) -> Answer:
    """Stores a request.

    Raises: ReusedKeyError; HeldError for a comparison that another open request has begun.
    """

    def act(connection: Connection) -> Answer:
        if kind == "comparison":
            _refuse_second(connection, asked["name"])
        made_id = insert_row(
            connection,
            evaluations,
            request=to_json({"job": kind, "asked": asked}),
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


def _refuse_second(connection: Connection, name: str) -> None:
    """Raises: HeldError when an open request has a comparison of this name."""
    where = (
        evaluations.c.state.in_(OPEN),
        kind_of_job == "comparison",
        func.json_extract(evaluations.c.request, "$.asked.name") == name,
    )
    other = connection.execute(select(evaluations.c.id).where(*where)).scalar()
    if other is not None:
        raise HeldError(
            f"comparison {name!r} is job {other}, which is not over; wait for it or cancel it, or "
            "choose another name"
        )


def cancel_job(
    league: League, job_id: int, keyed: Keyed | None, render: Callable[[JobRequest], Answer]
) -> Answer:
    """Cancels a request. One that has ended does not change.

    Raises: PlayerError when there is none of this number, ReusedKeyError.
    """

    def act(connection: Connection) -> Answer:
        mine = evaluations.c.id == _request(connection, job_id).id
        still_open = evaluations.c.state.in_(OPEN)
        connection.execute(update(evaluations).where(mine, still_open).values(cancelled=1))
        return render(_request(connection, job_id))

    return answer_once(league, keyed, act)


def record_job(
    league: League,
    request: JobRequest,
    state: JobState,
    message: str,
    restarts: int,
    process: str | None,
    report: Mapping[str, Any] | None,
) -> None:
    """Stores what the service observed, as an event as well. report: None keeps the stored one."""
    values: dict[str, Any] = {"state": state, "message": message, "restarts": restarts}
    values["process"] = process
    if report is not None:
        values["report"] = to_json(report)
    if state not in OPEN:
        values["finished_at"] = time.time()
    with league.write() as connection:
        connection.execute(
            update(evaluations).where(evaluations.c.id == request.id).values(**values)
        )
        _tell(connection, _request(connection, request.id))


def get_job(league: League, job_id: int) -> JobRequest:
    """One request. Raises: PlayerError when there is none of this number."""
    with league.read() as connection:
        return _request(connection, job_id)


def open_jobs(league: League) -> list[JobRequest]:
    """The requests that have not ended, oldest first."""
    where = evaluations.c.state.in_(OPEN), kind_of_job.is_not(None)
    with league.read() as connection:
        rows = connection.execute(select(evaluations).where(*where).order_by(evaluations.c.id))
        return [_to_request(row) for row in rows]


def job_page(
    league: League,
    kind: JobKind | None,
    state: JobState | None,
    before: int | None,
    limit: int,
) -> tuple[list[JobRequest], int | None]:
    """(a page of requests, newest first; the number before which the next page begins or None).

    kind, state  only those of this kind and in this state; None: all
    """
    where = [kind_of_job.is_not(None) if kind is None else kind_of_job == kind]
    if state is not None:
        where.append(evaluations.c.state == state)
    rows, next_before = newest_rows(league, evaluations, where, before, limit)
    return [_to_request(row) for row in rows], next_before


def _request(connection: Connection, job_id: int) -> JobRequest:
    mine = evaluations.c.id == job_id, kind_of_job.is_not(None)
    row = connection.execute(select(evaluations).where(*mine)).first()
    if row is None:
        raise PlayerError(f"no job {job_id}")
    return _to_request(row)


def _to_request(row: Any) -> JobRequest:
    request = json.loads(row.request)
    return from_row(
        JobRequest,
        row,
        kind=request["job"],
        asked=request["asked"],
        cancelled=bool(row.cancelled),
        report=None if row.report is None else json.loads(row.report),
    )


def _tell(connection: Connection, request: JobRequest) -> None:
    shown = {"kind": request.kind, "state": request.state, "message": request.message}
    tell(connection, "job", "", {"id": str(request.id), **shown})
