"""Superseding: a start from a checkpoint takes back the rows that came after it.

Superseded rows stay, outside PBT and ratings. Which rows were taken back is returned as marks for
the population's chain (`arena.league.chain`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, func, select, update

from arena.league.block_rows import supersede_blocks
from arena.league.chain import ChainContent, said
from arena.league.chain_rows import runs_of
from arena.league.schema import (
    MAX_NUMBER,
    events,
    game_key,
    games,
    rounds,
    snapshots,
    wiring_certificates,
)

CHUNK = 500
# Events about a process, not about its run: no resume supersedes them.
LASTING_EVENTS = ("resume", "edit", "checkpoint")
# [table, column, value, runs of keys], as records of changes have them.
Mark = list[Any]


@dataclass(frozen=True, slots=True)
class CheckpointRows:
    """The events and snapshots that a checkpoint knows.

    Of older incarnations it knows the events that are not superseded.

    incarnation  id of the incarnation that wrote the checkpoint
    events       how many of that incarnation's events it knows
    snapshots    ids of the snapshots that it knows
    """

    incarnation: int
    events: int
    snapshots: frozenset[str]


NOTHING_KNOWN = CheckpointRows(0, 0, frozenset())


def supersede(
    connection: Connection,
    population_id: int,
    incarnation_ids: Sequence[int],
    last_game: int,
    last_rounds: Mapping[str, int],
    known: CheckpointRows | None,
) -> list[ChainContent]:
    """Supersedes what these starts wrote after a checkpoint. Returns the records of that, if any.

    The arguments are those of `open_incarnation`.
    """
    marks = [
        *_supersede_games(connection, incarnation_ids, last_game),
        *_supersede_rounds(connection, incarnation_ids, last_rounds),
        *_supersede_rows(
            connection,
            wiring_certificates,
            wiring_certificates.c.incarnation_id.in_(incarnation_ids),
            wiring_certificates.c.after_game > last_game,
        ),
        *(
            _supersede_by_game(connection, incarnation_ids, last_game)
            if known is None
            else _supersede_unknown(connection, population_id, incarnation_ids, known)
        ),
    ]
    return [said("superseded", len(marks), marks=marks)] if marks else []


def _supersede_games(
    connection: Connection, incarnation_ids: Sequence[int], last_game: int
) -> list[Mark]:
    marks = []
    for incarnation_id in incarnation_ids:
        first, last = game_key(incarnation_id, last_game + 1), game_key(incarnation_id, MAX_NUMBER)
        standing = games.c.id.between(first, last) & (games.c.superseded == 0)
        ends = connection.execute(
            select(func.min(games.c.id), func.max(games.c.id)).where(standing)
        ).one()
        connection.execute(update(games).where(standing).values(superseded=1))
        in_blocks = supersede_blocks(connection, incarnation_id, last_game) or ()
        changed = [key for key in (*ends, *in_blocks) if key is not None]
        if changed:
            marks.append(["games", "superseded", 1, f"{min(changed)}-{max(changed)}"])
    return marks


def _supersede_rounds(
    connection: Connection, incarnation_ids: Sequence[int], last_rounds: Mapping[str, int]
) -> list[Mark]:
    marks = []
    for incarnation_id in incarnation_ids:
        with_rounds = (
            select(rounds.c.member).where(rounds.c.incarnation_id == incarnation_id).distinct()
        )
        for member in connection.execute(with_rounds).scalars().all():
            marks += _supersede_rows(
                connection,
                rounds,
                rounds.c.incarnation_id == incarnation_id,
                rounds.c.member == member,
                rounds.c.round > last_rounds.get(member, -1),
            )
    return marks


def _supersede_rows(
    connection: Connection, table: Table, *where: ColumnElement[bool]
) -> list[Mark]:
    """Supersedes the rows of a table that stand so far and meet all conditions."""
    standing = (*where, table.c.superseded == 0)
    ids = list(
        connection.execute(select(table.c.id).where(*standing).order_by(table.c.id)).scalars()
    )
    if not ids:
        return []
    connection.execute(update(table).where(*standing).values(superseded=1))
    return [[table.name, "superseded", 1, runs_of(ids)]]


def _supersede_by_game(
    connection: Connection, incarnation_ids: Sequence[int], last_game: int
) -> list[Mark]:
    marks = []
    for table in (snapshots, events):
        later = [table.c.incarnation_id.in_(incarnation_ids), table.c.after_game > last_game]
        if table is events:
            later.append(events.c.kind.not_in(LASTING_EVENTS))
        marks += _supersede_rows(connection, table, *later)
    return marks


def _supersede_unknown(
    connection: Connection,
    population_id: int,
    incarnation_ids: Sequence[int],
    known: CheckpointRows,
) -> list[Mark]:
    unknown = (events.c.incarnation_id == known.incarnation) & (events.c.position >= known.events)
    marks = _supersede_rows(
        connection,
        events,
        events.c.incarnation_id.in_(incarnation_ids),
        (events.c.incarnation_id > known.incarnation) | unknown,
        events.c.kind.not_in(LASTING_EVENTS),
    )
    standing = (
        select(snapshots.c.id, snapshots.c.snapshot_id)
        .where(snapshots.c.population_id == population_id, snapshots.c.superseded == 0)
        .order_by(snapshots.c.id)
    )
    newer = [
        row.id for row in connection.execute(standing) if row.snapshot_id not in known.snapshots
    ]
    for start in range(0, len(newer), CHUNK):
        chosen = snapshots.c.id.in_(newer[start : start + CHUNK])
        marks += _supersede_rows(connection, snapshots, chosen)
    return marks
