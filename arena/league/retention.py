"""Retention of snapshots: the plan of which weights may be removed, and the marks in their rows.

A snapshot's row stays when its weights are removed from the disk.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter

from sqlalchemy import ColumnElement, Connection, select, update

from arena.league.chain import append, chain_of_population, said
from arena.league.chain_rows import runs_of
from arena.league.database import League
from arena.league.populations import find_population
from arena.league.schema import snapshots
from pbt.records import SnapshotRecord

CHUNK = 500


def anchors(league: League) -> set[str]:
    """Ids of the snapshots that a person marked as anchors."""
    with league.read() as connection:
        return set(
            connection.execute(
                select(snapshots.c.snapshot_id).where(snapshots.c.is_anchor == 1)
            ).scalars()
        )


def mark_anchor(league: League, snapshot_id: str, is_anchor: bool = True) -> None:
    """Marks a snapshot as an anchor, or as none. Retention keeps the weights of anchors."""
    with league.write() as connection:
        set_anchor(connection, snapshot_id, is_anchor)


def set_anchor(connection: Connection, snapshot_id: str, is_anchor: bool = True) -> None:
    """As `mark_anchor`, in the caller's transaction."""
    _mark(connection, "anchor", "is_anchor", int(is_anchor), snapshots.c.snapshot_id == snapshot_id)


def _mark(
    connection: Connection, kind: str, flag: str, value: int, *where: ColumnElement[bool]
) -> None:
    """Sets a flag of the snapshots that meet all conditions, and records it in their chains.

    kind: what happened, in words.
    """
    differing = (*where, snapshots.c[flag] != value)
    query = select(snapshots.c.population_id, snapshots.c.id).where(*differing)
    rows = connection.execute(query.order_by(snapshots.c.population_id, snapshots.c.id)).all()
    connection.execute(update(snapshots).where(*differing).values({flag: value}))
    for population_id, marked in groupby(rows, key=itemgetter(0)):
        ids = [row.id for row in marked]
        content = said(kind, len(ids), marks=[["snapshots", flag, value, runs_of(ids)]])
        append(connection, chain_of_population(population_id), [content])


def mark_weights_removed(
    league: League, snapshot_ids: Sequence[str], population: str | None = None
) -> None:
    """Marks snapshots as no longer playable.

    population  whose files were removed; None: those of all populations. Two trainings with equal
                config and seed make equal snapshots, each in its own folder
    Raises: PlayerError when there is no such population.
    """
    with league.write() as connection:
        whose: list[ColumnElement[bool]] = []
        if population is not None:
            whose.append(snapshots.c.population_id == find_population(connection, population).id)
        for start in range(0, len(snapshot_ids), CHUNK):
            chosen = snapshots.c.snapshot_id.in_(snapshot_ids[start : start + CHUNK])
            _mark(connection, "weights removed", "weights_removed", 1, chosen, *whose)


def plan_retention(
    snapshots: Sequence[SnapshotRecord],
    keep_newest: int,
    thinned_every: int,
    keep_ids: Collection[str],
) -> tuple[str, ...]:
    """The ids of the snapshots whose weights may be removed, oldest first.

    snapshots      every snapshot that the population made, oldest first. Those without weights are
                   included: positions must not move, or each plan would thin the rest again
    keep_newest    how many of the newest snapshots of the population stay
    thinned_every  of each member's snapshots, the first and every k-th after it stay
    keep_ids       the best, anchors, and those that are seated, in a checkpoint, or the source of a
                   copy that is not applied yet

    Each member's newest snapshot stays too, so that a member that finished early remains an
    opponent. Parents need not stay, because no game seats them.
    """
    kept = set(keep_ids) | {
        snapshot.snapshot_id for snapshot in snapshots[max(0, len(snapshots) - keep_newest) :]
    }
    by_member: dict[str, list[str]] = defaultdict(list)
    for snapshot in snapshots:
        by_member[snapshot.member].append(snapshot.snapshot_id)
    for ids in by_member.values():
        kept |= {*ids[::thinned_every], ids[-1]}
    return tuple(
        dict.fromkeys(
            snapshot.snapshot_id for snapshot in snapshots if snapshot.snapshot_id not in kept
        )
    )
