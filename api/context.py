"""The context of the service: what every route works with."""

import inspect
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import Depends, Header, Request
from starlette.responses import Response

from api.http.cache import RevisionCache
from api.http.observability import Observed
from api.http.problems import Problem
from api.http.server import Closing
from api.http.settings import Settings
from api.http.tokens import Tokens
from api.http.uploads import Uploads
from api.notify.notifier import Notifier
from api.reconcile.best_ratings import BestRatings
from api.reconcile.plays import Plays
from api.reconcile.reconciler import Supervisor
from api.reconcile.replays import Replays
from arena.assessment.assessor import Assessor
from arena.data.curves import CurveStore
from arena.data.paths import PopulationPaths, population_paths
from arena.league.database import League
from arena.league.idempotency import Answer, Keyed, stored_answer
from arena.league.match_standings import MatchStandings
from arena.matches.match_intervals import MatchIntervals

KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=128,
        pattern=r"^[\x21-\x7e]+$",
        description="a repetition with the same key gets the same answer, for 24 hours",
    ),
]
IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=64,
        description="ETag of the population; 412 where it was changed since",
    ),
]


class OpenStreams:
    """Counts the event streams that are open, in all and by caller."""

    def __init__(self, most: int, most_each: int) -> None:
        self.most, self.most_each = most, most_each
        self._open = Counter[str]()
        self._lock = threading.Lock()

    def open(self, caller: str) -> None:
        """Count one more. Raises: Problem when the caller, or all together, have too many."""
        with self._lock:
            if self._open[caller] >= self.most_each:
                refused = f"{self.most_each} streams of this caller are open already"
            elif self._open.total() >= self.most:
                refused = f"{self.most} streams are open already"
            else:
                self._open[caller] += 1
                return
        raise Problem("too-many-requests", refused, headers={"retry-after": "5"})

    def close(self, caller: str) -> None:
        with self._lock:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]


@dataclass
class Context:
    """The one service of this process.

    settings    how it is set up
    league      the open league
    tokens      the right to read and to change
    observed    the metrics of the service
    supervisor  the loop that starts and stops trainings and matches
    cache       answers that stay valid for one revision of the league
    curves      training curves, kept in memory
    standings   of finished matches, kept in memory
    intervals   of matches of two, kept in memory
    started_at  seconds since 1970
    in_flight   idempotency keys of requests that are being processed for the first time
    streams     the event streams that are open
    closing     the service was asked to stop
    plays       games that people play by hand
    replays     stored games that are played again
    best_ratings  of every population, for the metrics
    notifier    sends the webhooks of populations
    uploads     the files that are being uploaded
    assessor    says of each population whether it learns
    """

    settings: Settings
    league: League
    tokens: Tokens
    observed: Observed
    supervisor: Supervisor
    cache: RevisionCache
    curves: CurveStore = field(default_factory=CurveStore)
    standings: MatchStandings = field(default_factory=MatchStandings)
    intervals: MatchIntervals = field(default_factory=MatchIntervals)
    started_at: float = field(default_factory=time.time)
    in_flight: set[str] = field(default_factory=set)
    streams: OpenStreams = field(init=False)
    closing: Closing = field(default_factory=Closing)
    plays: Plays = field(init=False)
    replays: Replays = field(init=False)
    best_ratings: BestRatings = field(init=False)
    notifier: Notifier = field(init=False)
    uploads: Uploads = field(init=False)
    assessor: Assessor = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        settings = self.settings
        self.streams = OpenStreams(settings.max_streams, settings.max_streams_each)
        self.plays, self.replays = Plays(self.settings), Replays(self.settings)
        self.best_ratings = BestRatings(self.league, self.observed)
        self.notifier = Notifier(settings, self.league)
        self.uploads = Uploads(settings)
        self.assessor = Assessor(self.league, settings.data, background=True)

    def start(self) -> None:
        """Begin to supervise trainings, and to send webhooks."""
        if not self.settings.read_only:
            self.uploads.clear()
        self.supervisor.start()
        self.notifier.start()

    def close(self) -> None:
        """End the boards, save and stop all trainings, send nothing more."""
        self.plays.close()
        self.supervisor.close()
        self.notifier.close()
        self.assessor.close()

    def paths(self, name: str) -> PopulationPaths:
        return population_paths(self.settings.data, name)

    def holds(self, path: Path) -> bool:
        """Whether the path is a file of the data directory, and not a link out of it."""
        return path.is_file() and path.resolve().is_relative_to(self.settings.data.resolve())

    def refuse_when_full(self) -> None:
        """Raises: Problem when less disk space is free than `hard_disk_bytes`."""
        if self.supervisor.disk == "hard":
            detail = (
                "too little free space; until there is more, populations can only be "
                "stopped, paused or deleted, evaluations cancelled, and imports removed"
            )
            raise Problem("disk-full", detail, headers={"retry-after": "30"})

    @contextmanager
    def alone(self, keyed: Keyed | None) -> Iterator[None]:
        """Raises: Problem while a request with this key is being processed."""
        if keyed is None:
            yield
            return
        with self._lock:
            if keyed.key in self.in_flight:
                raise Problem(
                    "conflict",
                    "a request with this Idempotency-Key is still being processed; try again",
                    headers={"retry-after": "1"},
                )
            self.in_flight.add(keyed.key)
        try:
            yield
        finally:
            self.in_flight.discard(keyed.key)


async def context_of(request: Request) -> Context:
    """The service of a request.

    It is asynchronous, as every dependency that does not wait: FastAPI calls synchronous ones in
    another thread, which costs more than the call.
    """
    return cast(Context, request.app.state.context)


Here = Annotated[Context, Depends(context_of)]


def made_from_request(kind: Callable[..., object]) -> Any:
    """A dependency that makes a dataclass from parameters of the request, as its fields say.

    It is asynchronous for the same reason as `context_of`.
    """

    async def make(**fields: Any) -> object:
        return kind(**fields)

    make.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
    return Depends(make)


@dataclass(kw_only=True)
class Change:
    """A request that changes something; routes take it as a dependency.

    key  a repetition with the same key gets the stored answer
    """

    request: Request
    here: Here
    key: KeyHeader = None

    def once(
        self, content: object, act: Callable[[Keyed | None], Answer], *, makes_room: bool = False
    ) -> Response:
        """Process the request once.

        content     the body of the request, and the headers that matter
        act         checks the request, carries it out, and stores the answer with the effect
        makes_room  the request is allowed although the disk is nearly full
        Raises: Problem while a request with this key is being processed, and when the disk is full.
        """
        keyed: Keyed | None = None
        url = self.request.url
        if self.key is not None:
            told = json.dumps([str(url.query), content], sort_keys=True).encode()
            keyed = Keyed(f"{self.request.method} {url.path} {self.key}", told)
        with self.here.alone(keyed):
            answer = stored_answer(self.here.league, keyed)
            if answer is None:
                if not makes_room:
                    self.here.refuse_when_full()
                answer = act(keyed)
                self.here.supervisor.wake()
        headers = {} if answer.location is None else {"location": answer.location}
        return Response(answer.body, answer.status, headers=headers, media_type="application/json")


Changing = Annotated[Change, made_from_request(Change)]


def revision_of(if_match: str | None) -> int | None:
    """The revision in an If-Match header; None where the header allows any.

    Raises: Problem for a tag that no population has.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isdecimal() or not text.isascii() or len(text) > 15:
        raise Problem(
            "precondition-failed",
            f"If-Match: {if_match}: no population has this tag; send the ETag of a GET answer",
        )
    return int(text)
