"""Which snapshots may not go, and which have gone from the disk: their rows stay."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select, update

from arena.league.database import League
from arena.league.populations import find_population
from arena.league.schema import snapshots

CHUNK = 500


def anchors(league: League) -> set[str]:
    """Ids of the snapshots a person marked as anchors."""
    with league.read() as connection:
        return set(connection.execute(select(snapshots.c.snapshot_id).where(snapshots.c.is_anchor == 1)).scalars())


def mark_anchor(league: League, snapshot_id: str, is_anchor: bool = True) -> None:
    """An anchor's weights are never thinned out."""
    with league.write() as connection:
        connection.execute(update(snapshots).where(snapshots.c.snapshot_id == snapshot_id).values(is_anchor=int(is_anchor)))


def mark_weights_removed(league: League, snapshot_ids: Sequence[str], population: str | None = None) -> None:
    """Say that these snapshots can no longer be played.

    population  whose files they were: two trainings from one configuration and seed make equal snapshots, each in its own folder. None: everybody's
    Raises: PlayerError when there is no such population.
    """
    with league.write() as connection:
        whose: list[ColumnElement[bool]] = []
        if population is not None:
            whose.append(snapshots.c.population_id == find_population(connection, population).id)
        for start in range(0, len(snapshot_ids), CHUNK):
            chosen = snapshots.c.snapshot_id.in_(snapshot_ids[start : start + CHUNK])
            connection.execute(update(snapshots).where(chosen, *whose).values(weights_removed=1))
