"""One stream of everything that happens, as server-sent events. A client that comes back names
the last number it saw and misses nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.context import Context, Here
from api.http.problems import Problem
from api.routes.bodies import NAME_PATTERN
from arena.league.service_events import event_bounds, events_after

router = APIRouter(prefix="/v1/events", tags=["events"])

LOOK_EVERY_S = 0.3
AT_ONCE = 200
RETRY_MS = 2000
TOPICS = ("population", "operation", "training", "evaluation")


@dataclass(frozen=True)
class Stream:
    """after: the number behind which it begins;  lost: what was between is not kept any more;
    topics: empty for all
    """

    here: Context
    after: int
    lost: bool
    topics: tuple[str, ...]
    population: str | None


def open_stream(
    here: Here,
    topics: Annotated[
        str | None,
        Query(
            max_length=100,
            description=f"of {', '.join(TOPICS)}, with commas between; all where left out",
        ),
    ] = None,
    population: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    after: Annotated[
        int | None,
        Query(
            ge=0,
            lt=2**53,
            description="begin behind this number; where left out, with what happens next",
        ),
    ] = None,
    last_event_id: Annotated[int | None, Header(alias="Last-Event-ID", ge=0, lt=2**53)] = None,
) -> Iterator[Stream]:
    """Checked before the answer begins, since nothing can be refused after that."""
    wanted = tuple(topics.split(",")) if topics is not None else ()
    if unknown := [topic for topic in wanted if topic not in TOPICS]:
        raise Problem(
            "invalid",
            f"topics: {unknown}; there are: {', '.join(TOPICS)}",
            [("topics", "unknown topic")],
        )
    if not here.streams.acquire(blocking=False):
        raise Problem(
            "too-many-requests",
            f"{here.settings.max_streams} streams are open already",
            headers={"retry-after": "5"},
        )
    here.observed.streams.inc()
    try:
        seen = last_event_id if last_event_id is not None else after
        oldest, newest = event_bounds(here.league)
        lost = seen is not None and not oldest - 1 <= seen <= newest
        yield Stream(here, newest if seen is None or lost else seen, lost, wanted, population)
    finally:
        here.streams.release()
        here.observed.streams.dec()


@router.get("", operation_id="streamEvents", response_class=EventSourceResponse)
async def stream(opened: Annotated[Stream, Depends(open_stream)]) -> AsyncIterator[ServerSentEvent]:
    """`event` is the topic, `id` the number to come back with. `resync`: what you missed is
    gone, read everything anew.
    """
    after = opened.after
    if opened.lost:
        yield ServerSentEvent(event="resync", id=str(after), retry=RETRY_MS, data={"newest": after})
    else:
        yield ServerSentEvent(comment="open", retry=RETRY_MS)
    while True:
        found, after = await asyncio.to_thread(
            events_after, opened.here.league, after, AT_ONCE, opened.topics, opened.population
        )
        for event in found:
            told = {"population": event.population, "at": event.created_at, **event.payload}
            yield ServerSentEvent(event=event.topic, id=str(event.id), data=told)
        if not found:
            await asyncio.sleep(LOOK_EVERY_S)
