"""The stream of events, as server-sent events.

A client that connects again names the last number that it received, and misses nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.context import Context, Here
from api.http.problems import Problem
from api.http.tokens import Grant
from api.open_values import MARK
from api.routes.bodies import NAME_PATTERN
from arena.league.service_events import event_bounds, events_after

router = APIRouter(prefix="/v1/events", tags=["events"])

LOOK_EVERY_S = 0.3
AT_ONCE = 200
RETRY_MS = 2000
STREAM: dict[str, Any] = {
    "description": "events, until the client leaves",
    "content": {
        "text/event-stream": {
            "itemSchema": {
                "type": "object",
                "properties": {
                    "data": {
                        "contentMediaType": "application/json",
                        "contentSchema": {MARK: "StreamedEvent"},
                    }
                },
            }
        }
    },
}
"""How OpenAPI 3.2 describes what a stream carries; FastAPI adds the other fields of an event."""
TOPICS = ("population", "operation", "training", "evaluation", "job", "webhook")

Topics = Annotated[
    str | None,
    Query(
        max_length=100,
        description=f"which of {', '.join(TOPICS)}, with commas between; without it, all",
    ),
]
OfPopulation = Annotated[
    str | None, Query(pattern=NAME_PATTERN, description="only events of this population")
]
After = Annotated[
    int | None,
    Query(ge=0, lt=2**53, description="begin behind this number; without it, with the next event"),
]
LastEventId = Annotated[
    int | None,
    Header(
        alias="Last-Event-ID",
        ge=0,
        lt=2**53,
        description="as `after`, which it overrides; browsers send it by themselves",
    ),
]


@dataclass(frozen=True)
class Stream:
    """A stream that a client asked for.

    here        the service
    after       the number behind which it begins
    lost        events between that and the client's last number are not kept any more
    topics      which topics it carries; empty: all
    population  which population it is about; None: all
    grant       what its caller is allowed; it ends when that does not stand any more
    """

    here: Context
    after: int
    lost: bool
    topics: tuple[str, ...]
    population: str | None
    grant: Grant

    @property
    def ended(self) -> bool:
        """Whether nothing more may be told: the service stops, or the caller may not read."""
        return self.here.closing.is_set() or not self.here.tokens.holds(self.grant)


def open_stream(
    request: Request,
    here: Here,
    topics: Topics = None,
    population: OfPopulation = None,
    after: After = None,
    last_event_id: LastEventId = None,
) -> Iterator[Stream]:
    """Check the request before the answer begins, because nothing can be refused after that."""
    chosen = tuple(topics.split(",")) if topics is not None else ()
    if unknown := [topic for topic in chosen if topic not in TOPICS]:
        raise Problem(
            "invalid",
            f"topics: {unknown}; there are: {', '.join(TOPICS)}",
            [("topics", "unknown topic")],
        )
    caller: str = request.state.caller
    here.streams.open(caller)
    here.observed.streams.inc()
    try:
        last = last_event_id if last_event_id is not None else after
        oldest, newest = event_bounds(here.league)
        lost = last is not None and not oldest - 1 <= last <= newest
        begin = newest if last is None or lost else last
        yield Stream(here, begin, lost, chosen, population, request.state.grant)
    finally:
        here.streams.close(caller)
        here.observed.streams.dec()


@router.get(
    "", operation_id="streamEvents", response_class=EventSourceResponse, responses={200: STREAM}
)
async def stream(opened: Annotated[Stream, Depends(open_stream)]) -> AsyncIterator[ServerSentEvent]:
    """Follow the events. `event` is the topic, `id` the number to connect again with.

    After the event `resync` read everything anew: the events that you missed are not kept any more.
    """
    after = opened.after
    if opened.lost:
        yield ServerSentEvent(
            event="resync", id=str(after), retry=RETRY_MS, data={"topic": "resync", "newest": after}
        )
    else:
        yield ServerSentEvent(comment="open", retry=RETRY_MS)
    while not opened.ended:
        events, after = await asyncio.to_thread(
            events_after, opened.here.league, after, AT_ONCE, opened.topics, opened.population
        )
        for event in events:
            head = {"topic": event.topic, "population": event.population, "at": event.created_at}
            yield ServerSentEvent(
                event=event.topic, id=str(event.id), data={**head, **event.payload}
            )
        if not events:
            await opened.here.closing.wait(LOOK_EVERY_S)
