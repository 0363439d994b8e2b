"""PBT rounds and events of a population, as the league stores them.

Functions return frozen dataclasses, never rows, and take their own short transactions.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Select, Table, bindparam, select

from arena.league.database import League
from arena.league.lineage import RoundDecision
from arena.league.populations import find_population
from arena.league.rows import from_row, to_certificate, to_directive, to_round
from arena.league.schema import events, incarnations, rounds, wiring_certificates
from pbt.records import Event, RoundRecord, WiringCertificate

_ID: BindParameter[int] = bindparam("population_id")


@dataclass(frozen=True, slots=True)
class StoredRound:
    """A round with what the league knows of it.

    record       the round
    incarnation  number of the population's start that decided it
    superseded   whether a resume from an earlier checkpoint took it back
    created_at   seconds since the epoch
    after_game   number of the last game before it, -1 before any
    """

    record: RoundRecord
    incarnation: int
    superseded: bool
    created_at: float
    after_game: int


@dataclass(frozen=True, slots=True)
class StoredCertificate:
    """A wiring certificate with what the league knows of it.

    record       the certificate
    incarnation  number of the population's start that it belongs to
    superseded   whether a resume from an earlier checkpoint took it back
    created_at   seconds since the epoch
    """

    record: WiringCertificate
    incarnation: int
    superseded: bool
    created_at: float


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event of a training with what the league knows of it.

    event        the event
    incarnation  number of the population's start that wrote it
    superseded   whether a resume from an earlier checkpoint took it back
    created_at   seconds since the epoch
    """

    event: Event
    incarnation: int
    superseded: bool
    created_at: float


def list_rounds(league: League, population: str, *, superseded: bool = False) -> list[StoredRound]:
    """The rounds of a population with all their inputs, in the order they were decided.

    superseded  whether superseded ones are included
    Raises: PlayerError.
    """
    rows = _of_population(league, population, rounds, superseded=superseded)
    return [to_stored_round(row) for row in rows]


def to_stored_round(row: Any) -> StoredRound:
    """row: of the table, with the number of its start as `incarnation`"""
    return StoredRound(
        to_round(row), row.incarnation, bool(row.superseded), row.created_at, row.after_game
    )


def list_certificates(
    league: League, population: str, *, superseded: bool = False
) -> list[StoredCertificate]:
    """The wiring certificates of a population, in the order in which they ended.

    superseded  whether superseded ones are included
    Raises: PlayerError.
    """
    rows = _of_population(league, population, wiring_certificates, superseded=superseded)
    return [
        StoredCertificate(
            to_certificate(row), row.incarnation, bool(row.superseded), row.created_at
        )
        for row in rows
    ]


def list_decisions(
    league: League, population: str, member: str | None = None
) -> list[RoundDecision]:
    """The decisions of rounds that are not superseded, in their order. Raises: PlayerError.

    It reads a small part of what `list_rounds` reads. member: only this member's; None: all.
    """
    columns = (rounds.c.directive, rounds.c.frames, rounds.c.verdict, rounds.c.created_at)
    rows = _of_population(league, population, rounds, columns, superseded=False, member=member)
    return [
        RoundDecision(to_directive(row.directive), row.frames, row.verdict, row.created_at)
        for row in rows
    ]


def list_events(league: League, population: str, *, superseded: bool = True) -> list[StoredEvent]:
    """The events of a population, oldest first. Raises: PlayerError.

    superseded  whether superseded ones are included
    """
    rows = _of_population(league, population, events, superseded=superseded)
    return [
        StoredEvent(from_row(Event, row), row.incarnation, bool(row.superseded), row.created_at)
        for row in rows
    ]


def _of_population(
    league: League,
    population: str,
    table: Table,
    columns: tuple[Any, ...] = (),
    *,
    superseded: bool,
    member: str | None = None,
) -> list[Any]:
    """The rows of a population in a table, each with its incarnation's number, as written.

    columns     only these; (): all
    superseded  whether superseded rows are included
    member      only this member's; None: all
    Raises: PlayerError.
    """
    with league.read() as connection:
        of = {"population_id": find_population(connection, population).id}
        of |= {} if member is None else {"member": member}
        return list(
            connection.execute(
                _rows_of_population(table, columns, superseded, member is not None), of
            )
        )


@cache
def _rows_of_population(
    table: Table, columns: tuple[Any, ...], superseded: bool, of_member: bool
) -> Select[Any]:
    """The query of `_of_population`."""
    query = select(*(columns or (table,)), incarnations.c.number.label("incarnation")).join(
        incarnations, incarnations.c.id == table.c.incarnation_id
    )
    query = query.where(incarnations.c.population_id == _ID).order_by(table.c.id)
    query = query.where(table.c.member == bindparam("member")) if of_member else query
    return query if superseded else query.where(table.c.superseded == 0)
