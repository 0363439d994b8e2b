"""Events of the service for its subscribers, in one order that never changes.

An event keeps its number for ever, and no number is used twice.
"""

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert

from arena.league.database import League
from arena.league.rows import from_row, to_json
from arena.league.schema import event_cursors, events, incarnations, populations, service_events

EVENTS_KEPT = 100_000
COPIED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """One event.

    id          number of the event
    topic       "population" (a new state or edits), "operation", "training" (an event of a
                trainer), "evaluation" (progress of a match), "job" (of other work) or "webhook"
                (how a notice ended)
    population  name of the population, "" for an "evaluation" or a "job"
    payload     what happened, as a JSON object
    created_at  seconds since the epoch
    """

    id: int
    topic: str
    population: str
    payload: Mapping[str, Any]
    created_at: float


def tell(
    connection: Connection,
    topic: str,
    population: str,
    payload: Mapping[str, Any],
    created_at: float | None = None,
) -> None:
    """Adds an event in the caller's transaction, so that it stands exactly when its cause does."""
    at = time.time() if created_at is None else created_at
    connection.execute(
        insert(service_events).values(
            topic=topic, population=population, payload=to_json(payload), created_at=at
        )
    )


def events_after(
    league: League,
    after: int,
    limit: int,
    topics: Collection[str] = (),
    population: str | None = None,
) -> tuple[list[ServiceEvent], int]:
    """(the next events after number `after`, oldest first; the number up to which all were read).

    limit       most events
    topics      only these topics; empty: all
    population  only this population; None: all
    """
    with league.read() as connection:
        newest = _newest(connection)
        query = (
            select(service_events)
            .where(service_events.c.id > after)
            .order_by(service_events.c.id)
            .limit(limit)
        )
        if topics:
            query = query.where(service_events.c.topic.in_(topics))
        if population is not None:
            query = query.where(service_events.c.population == population)
        rows = connection.execute(query).all()
    page = [from_row(ServiceEvent, row, payload=json.loads(row.payload)) for row in rows]
    return page, page[-1].id if len(page) == limit else max(newest, after)


def event_bounds(league: League) -> tuple[int, int]:
    """(number of the oldest stored event, number of the newest one ever); (1, 0) before any."""
    with league.read() as connection:
        newest = _newest(connection)
        oldest = connection.execute(select(func.min(service_events.c.id))).scalar()
    return (newest + 1 if oldest is None else int(oldest)), newest


def _newest(connection: Connection) -> int:
    """The number of the newest event ever, also when it was removed."""
    row = connection.exec_driver_sql(
        "SELECT seq FROM sqlite_sequence WHERE name = 'service_events'"
    ).scalar()
    return int(row or 0)


def copy_training_events(league: League) -> int:
    """Copies the events that trainers added since the last call, and returns how many.

    Each is copied exactly once, also when a process is killed in between.
    """
    with league.read() as connection:
        if connection.execute(_uncopied().limit(1)).first() is None:
            return 0
    with league.write() as connection:
        rows = connection.execute(_uncopied().limit(COPIED_AT_ONCE)).all()
        cursors: dict[int, int] = {}
        for row in rows:
            tell(
                connection,
                "training",
                row.name,
                {"kind": row.kind, "member": row.member, "frames": row.frames, "text": row.text},
                row.created_at,
            )
            cursors[row.incarnation_id] = row.position
        for incarnation_id, position in cursors.items():
            added = upsert(event_cursors).values(incarnation_id=incarnation_id, position=position)
            connection.execute(
                added.on_conflict_do_update(
                    index_elements=["incarnation_id"], set_={"position": position}
                )
            )
        return len(rows)


def _uncopied() -> Any:
    """The query of events to copy, by incarnation, then position.

    Ids of incarnations are never reused; ids of event rows may be.
    """
    joined = (
        events.join(incarnations, incarnations.c.id == events.c.incarnation_id)
        .join(populations, populations.c.id == incarnations.c.population_id)
        .outerjoin(event_cursors, event_cursors.c.incarnation_id == incarnations.c.id)
    )
    new = events.c.position > func.coalesce(event_cursors.c.position, -1)
    return (
        select(events, populations.c.name)
        .select_from(joined)
        .where(new)
        .order_by(events.c.incarnation_id, events.c.position)
    )


def forget_old_events(league: League, keep: int = EVENTS_KEPT) -> int:
    """Removes all but the newest events and returns how many were removed."""
    oldest, newest = event_bounds(league)
    if newest - oldest < keep:
        return 0
    with league.write() as connection:
        return int(
            connection.execute(
                delete(service_events).where(service_events.c.id <= newest - keep)
            ).rowcount
        )
