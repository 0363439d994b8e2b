"""Snapshots over REST, and their weights."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import structlog
from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.responses import FileResponse, Response

from api.context import Context, Here, made_from_request
from api.http.json_response import written
from api.http.problems import Problem
from api.routes.bodies import Member, PopulationName
from api.routes.pages import Cursor, LongLimit, Since, Until, read_cursor, write_cursor
from arena.data.snapshot_cards import SnapshotCard
from arena.league.chain_notes import record_download
from arena.league.ordered_pages import ListOrder, SnapshotFilter, Span, snapshot_page
from arena.league.populations import stored_config
from arena.league.retention import mark_anchor
from arena.league.stored_snapshots import StoredSnapshot, snapshots_of
from arena.players.cards import card_of, hyperparams_of
from pbt.config.stored import config_as_stored
from pbt.errors import PbtError, PlayerError

log = structlog.stdlib.get_logger("api.snapshots")
router = APIRouter(prefix="/v1", tags=["league"])

BINARY = {"type": "string", "format": "binary"}
SNAPSHOT_ID = r"^[0-9a-f]{64}$"
SnapshotId = Annotated[str, Path(pattern=SNAPSHOT_ID, description="SHA-256 of its weights")]
Sort = Literal["frames", "-frames", "created", "-created"]
COLUMNS: Mapping[str, tuple[str, type]] = {
    "frames": ("frames", int),
    "created": ("created_at", float),
}
"""Name of an order -> its column, and the type of that."""


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


class SnapshotList(BaseModel):
    """A page of the snapshots of a population.

    items  in the order that was asked for
    next   the cursor of the next page, null on the last one
    """

    items: list[SnapshotBody]
    next: str | None


@dataclass(kw_only=True)
class SnapshotQuestion:
    """Which snapshots are asked for."""

    member: Member = None
    role: Annotated[
        str | None, Query(max_length=64, description="only of members with this role")
    ] = None
    has_weights: Annotated[
        bool | None, Query(description="only those whose weights are there, or are not")
    ] = None
    anchor: Annotated[
        bool | None, Query(description="only those whose weights are kept for ever, or are not")
    ] = None
    superseded: Annotated[bool, Query(description="also those that a resume went back behind")] = (
        False
    )
    since: Since = None
    until: Until = None

    def filter(self) -> SnapshotFilter:
        span = Span(self.since, self.until)
        return SnapshotFilter(
            self.member, self.role, self.has_weights, self.anchor, self.superseded, span
        )


@router.get(
    "/populations/{name}/snapshots", operation_id="listSnapshots", response_model=SnapshotList
)
def list_snapshots(
    here: Here,
    name: PopulationName,
    wanted: Annotated[SnapshotQuestion, made_from_request(SnapshotQuestion)],
    sort: Annotated[
        Sort, Query(description="`frames`: least trained first; `-created`: newest first")
    ] = "frames",
    limit: LongLimit = 500,
    cursor: Cursor = None,
) -> Response:
    """Frozen copies of the members of a population."""
    of, (by, kind) = f"snapshots {sort}", COLUMNS[sort.removeprefix("-")]
    order, after = ListOrder(by, sort.startswith("-")), read_cursor(of, cursor, kind, int)
    page, place = snapshot_page(here.league, name, wanted.filter(), order, after, limit)
    return written(
        SnapshotList(items=[snapshot_body(each) for each in page], next=write_cursor(of, place))
    )


@router.get("/snapshots/{snapshot_id}", operation_id="getSnapshot", response_model=SnapshotBody)
def get_snapshot(here: Here, snapshot_id: SnapshotId) -> SnapshotBody:
    """One snapshot."""
    return snapshot_body(_snapshot(here, snapshot_id))


@router.put(
    "/snapshots/{snapshot_id}/anchor", operation_id="setAnchor", response_model=SnapshotBody
)
def set_anchor(here: Here, snapshot_id: SnapshotId) -> SnapshotBody:
    """Keep its weights for ever. A snapshot that is an anchor already stays one.

    410 where its weights were removed.
    """
    here.refuse_when_full()
    _refuse_removed(_snapshot(here, snapshot_id))
    mark_anchor(here.league, snapshot_id)
    return snapshot_body(_snapshot(here, snapshot_id))


@router.delete(
    "/snapshots/{snapshot_id}/anchor", operation_id="removeAnchor", response_model=SnapshotBody
)
def remove_anchor(here: Here, snapshot_id: SnapshotId) -> SnapshotBody:
    """Let retention remove its weights again, as those of any other snapshot."""
    _snapshot(here, snapshot_id)
    here.refuse_when_full()
    mark_anchor(here.league, snapshot_id, is_anchor=False)
    return snapshot_body(_snapshot(here, snapshot_id))


@router.get(
    "/snapshots/{snapshot_id}/weights",
    operation_id="getSnapshotWeights",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {"schema": BINARY}}},
        206: {"description": "the range asked for"},
    },
)
def get_weights(here: Here, snapshot_id: SnapshotId) -> FileResponse:
    """The safetensors file. Ranges are served, so that an interrupted download can go on.

    The first download is an export for the chain of its population.
    """
    stored = _snapshot(here, snapshot_id)
    path = here.paths(stored.population).snapshots / f"{snapshot_id}.safetensors"
    _refuse_removed(stored)
    if not here.holds(path):
        lost = f"the weights of snapshot {snapshot_id[:12]} are lost: their file is not there"
        raise Problem("gone", f"{lost}; restore it from a backup; its games stay")
    _note_download(here, stored)
    return FileResponse(
        path, media_type="application/octet-stream", filename=f"{snapshot_id[:12]}.safetensors"
    )


@router.get(
    "/snapshots/{snapshot_id}/card", operation_id="getSnapshotCard", response_model=SnapshotCard
)
def get_card(here: Here, snapshot_id: SnapshotId) -> SnapshotCard:
    """What the weights are. Beside their file, as FILE.json, `arena import` takes it."""
    stored = _snapshot(here, snapshot_id)
    record, population = stored.record, stored.population
    config = config_as_stored(
        stored_config(here.league, population), f"stored config of {population!r}"
    )
    return card_of(
        config,
        snapshot_id,
        record.size_bytes,
        hyperparams_of(here.league, snapshot_id),
        population=population,
        member=record.member,
        role=record.role,
        frames=record.frames,
    )


def _note_download(here: Context, stored: StoredSnapshot) -> None:
    """Record that weights leave the league, where it takes a record.

    Weights must be had also from a league that takes none, because the disk is full, for instance.
    """
    if here.settings.read_only:
        return
    try:
        record_download(here.league, stored.population, stored.record.snapshot_id)
    except PbtError as error:
        log.warning("download without a record", snapshot=stored.record.snapshot_id, why=str(error))


def _refuse_removed(stored: StoredSnapshot) -> None:
    """Raises: Problem for a snapshot without weights."""
    if stored.weights_removed:
        short = stored.record.snapshot_id[:12]
        raise Problem("gone", f"the weights of snapshot {short} were removed; its games stay")


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
