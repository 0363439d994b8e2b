"""What every route works with."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, Header, Request
from starlette.responses import Response

from api.cache import RevisionCache
from api.observability import Observed
from api.problems import Problem
from api.settings import Settings
from api.supervision.plays import Plays
from api.supervision.replays import Replays
from api.supervision.supervisor import Supervisor
from api.tokens import Tokens
from arena.curves import CurveStore
from arena.league.answers import Answer, Keyed
from arena.league.database import League
from arena.paths import PopulationPaths, population_paths

KeyHeader = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$")]
IfMatch = Annotated[str | None, Header(alias="If-Match", max_length=64)]


@dataclass
class Context:
    """The one service of this process. in_flight: idempotency keys whose first request is being worked on;  started_at: seconds since 1970"""

    settings: Settings
    league: League
    tokens: Tokens
    observed: Observed
    supervisor: Supervisor
    cache: RevisionCache
    curves: CurveStore = field(default_factory=CurveStore)
    started_at: float = field(default_factory=time.time)
    in_flight: set[str] = field(default_factory=set)
    streams: threading.BoundedSemaphore = field(init=False)
    plays: Plays = field(init=False)
    replays: Replays = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.streams = threading.BoundedSemaphore(self.settings.max_streams)
        self.plays, self.replays = Plays(self.settings), Replays(self.settings)

    def paths(self, name: str) -> PopulationPaths:
        return population_paths(self.settings.data, name)

    @contextmanager
    def change(self, request: Request, key: str | None, said: object) -> Iterator[Keyed | None]:
        """The request as one that may be repeated. said: its body.

        Raises: Problem while the first one with this key is still worked on, or while there is no room for what it would write.
        """
        if self.supervisor.disk == "hard":
            raise Problem("disk-full", "too little free space; nothing is changed until there is more", headers={"retry-after": "30"})
        if key is None:
            yield None
            return
        named = f"{request.method} {request.url.path} {key}"
        with self._lock:
            if named in self.in_flight:
                raise Problem("conflict", "a request with this Idempotency-Key is being worked on; try again", headers={"retry-after": "1"})
            self.in_flight.add(named)
        try:
            yield Keyed(named, json.dumps([str(request.url.query), said], sort_keys=True).encode())
        finally:
            self.in_flight.discard(named)


def context_of(request: Request) -> Context:
    return cast(Context, request.app.state.context)


Here = Annotated[Context, Depends(context_of)]


def revision_of(if_match: str | None) -> int | None:
    """From an If-Match header; None where nothing is asked. Raises: Problem for a tag that no population has."""
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isdecimal() or not text.isascii() or len(text) > 15:
        raise Problem("precondition-failed", f"If-Match: {if_match}: no population has this tag; take the ETag of a GET")
    return int(text)


def send(answer: Answer) -> Response:
    headers = {} if answer.location is None else {"location": answer.location}
    return Response(answer.body, answer.status, headers=headers, media_type="application/json")
