"""Snapshots whose weights leave the disk; their rows stay."""

from collections.abc import Sequence

from sqlalchemy import select, update

from arena.league.database import League
from arena.league.schema import snapshots

CHUNK = 500


def anchors(league: League) -> set[str]:
    """Ids of the snapshots a person marked as anchors."""
    with league.read() as connection:
        return set(connection.execute(select(snapshots.c.id).where(snapshots.c.is_anchor == 1)).scalars())


def mark_weights_removed(league: League, snapshot_ids: Sequence[str]) -> None:
    """Say that these snapshots can no longer be played."""
    with league.write() as connection:
        for start in range(0, len(snapshot_ids), CHUNK):
            chosen = snapshots.c.id.in_(snapshot_ids[start : start + CHUNK])
            connection.execute(update(snapshots).where(chosen).values(weights_removed=1))
