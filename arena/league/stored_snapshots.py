"""Snapshots as the league stores them, and those that were imported from other leagues.

Functions return frozen dataclasses, never rows, and take their own short transactions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Connection, Select, bindparam, select

from arena.data.paths import IMPORTED
from arena.league.database import League
from arena.league.frames import frames_text
from arena.league.populations import find_population
from arena.league.rows import from_row
from arena.league.schema import populations, snapshots
from pbt.records import SnapshotRecord

_ID: BindParameter[int] = bindparam("population_id")


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot with what the league knows of it.

    record           the snapshot
    population       name of its population
    is_anchor        whether a person marked it as an anchor, whose weights always stay
    weights_removed  whether its weights are gone
    superseded       whether a resume from an earlier checkpoint took it back
    after_game       number of the last game stored before it, -1 before any
    created_at       seconds since the epoch
    """

    record: SnapshotRecord
    population: str
    is_anchor: bool
    weights_removed: bool
    superseded: bool
    after_game: int
    created_at: float

    @property
    def label(self) -> str:
        """A name by which it can be found: `demo/m2@1.21M`, `imported/best`."""
        at = "" if self.population == IMPORTED else f"@{frames_text(self.record.frames)}"
        return f"{self.population}/{self.record.member}{at}"


def list_snapshots(
    league: League, population: str, member: str | None = None, *, superseded: bool = False
) -> list[StoredSnapshot]:
    """The snapshots of a population, by frames, then in the order they were made.

    member      only those of this member; None: all
    superseded  whether superseded ones are included
    Raises: PlayerError.
    """
    with league.read() as connection:
        of = {"population_id": find_population(connection, population).id} | (
            {} if member is None else {"member": member}
        )
        return [
            to_stored_snapshot(row)
            for row in connection.execute(
                _snapshots_of_population(member is not None, superseded), of
            )
        ]


@cache
def _snapshots_of_population(of_member: bool, superseded: bool) -> Select[Any]:
    query = (
        snapshot_query()
        .where(snapshots.c.population_id == _ID)
        .order_by(snapshots.c.frames, snapshots.c.id)
    )
    query = query.where(snapshots.c.member == bindparam("member")) if of_member else query
    return query if superseded else query.where(snapshots.c.superseded == 0)


def snapshot_query() -> Select[Any]:
    """All snapshots with the names of their populations."""
    return select(snapshots, populations.c.name.label("population")).join(
        populations, populations.c.id == snapshots.c.population_id
    )


def to_stored_snapshot(row: Any) -> StoredSnapshot:
    flags = bool(row.is_anchor), bool(row.weights_removed), bool(row.superseded)
    record = from_row(SnapshotRecord, row)
    return StoredSnapshot(record, row.population, *flags, row.after_game, row.created_at)


def imported_snapshots(league: League) -> list[StoredSnapshot]:
    """Snapshots imported from other leagues, sorted by name. The name stands for the member.

    Raises: SnapshotError for a damaged card.
    """
    if not (league.path.parent / IMPORTED).is_dir():
        return []
    # Cards are read by pydantic, which takes a quarter of a second to load.
    from arena.data.snapshot_cards import imported_cards

    stored = []
    for name, card in imported_cards(league.path.parent):
        record = SnapshotRecord(
            card.snapshot_id, name, card.role, 0, 0, card.frames, IMPORTED, None, card.size_bytes
        )
        stored.append(StoredSnapshot(record, IMPORTED, False, False, False, -1, 0.0))
    return stored


def named_snapshots(
    league: League, snapshot_ids: Sequence[str], population: str | None = None
) -> dict[str, StoredSnapshot]:
    """Id -> snapshot.

    Equal weights may stand under several names. Then the snapshot of `population` is taken, else
    one that was trained here, else an imported one.
    """
    imported = {stored.record.snapshot_id: stored for stored in imported_snapshots(league)}
    with league.read() as connection:
        trained = sorted(
            snapshots_of(connection, snapshot_ids),
            key=lambda stored: stored.population == population,
        )
    of_imports = {
        snapshot_id: imported[snapshot_id]
        for snapshot_id in snapshot_ids
        if snapshot_id in imported
    }
    return {**of_imports, **{stored.record.snapshot_id: stored for stored in trained}}


def snapshots_of(
    connection: Connection, snapshot_ids: Sequence[str] | None = None, id_prefix: str | None = None
) -> list[StoredSnapshot]:
    """Snapshots by their ids, or by the beginning of an id; newest first.

    Equal weights may stand in several populations.
    """
    query = snapshot_query().order_by(snapshots.c.id.desc())
    if snapshot_ids is not None:
        query = query.where(snapshots.c.snapshot_id.in_(snapshot_ids))
    if id_prefix is not None:
        query = query.where(
            snapshots.c.snapshot_id >= id_prefix, snapshots.c.snapshot_id < id_prefix + "~"
        )
    return [to_stored_snapshot(row) for row in connection.execute(query)]
