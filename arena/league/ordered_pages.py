"""Pages of matches, snapshots, events and rounds in an order of the caller's choice.

A page begins behind a place, which is what its rows are ordered by and, among equal ones, their
number. So rows that are added meanwhile move no row from one page to another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    exists,
    func,
    or_,
    select,
    true,
    tuple_,
)

from arena.league.database import League
from arena.league.matches import Match, to_match
from arena.league.populations import find_population
from arena.league.rows import from_row
from arena.league.schema import events, incarnations, matches, populations, rounds, snapshots
from arena.league.stored_history import StoredEvent, StoredRound, to_stored_round
from arena.league.stored_snapshots import StoredSnapshot, snapshot_query, to_stored_snapshot
from pbt.records import Event

Place = Sequence[Any]
Conditions = Iterable[ColumnElement[bool]]


@dataclass(frozen=True, slots=True)
class ListOrder:
    """The order of a list.

    by          the column that decides; rows that are equal in it are ordered by their number
    descending  the largest come first
    """

    by: str
    descending: bool


@dataclass(frozen=True, slots=True)
class Span:
    """Only rows that were made then; None: at any time. Seconds since the epoch.

    since  at this time or later
    until  before this time
    """

    since: float | None = None
    until: float | None = None

    def of(self, table: Table) -> list[ColumnElement[bool]]:
        made, where = table.c.created_at, []
        if self.since is not None:
            where.append(made >= self.since)
        if self.until is not None:
            where.append(made < self.until)
        return where


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """Which matches are wanted; None: whatever they are.

    env       the game
    finished  whether its last game has been played
    player    that plays: a snapshot's id, the name of a scripted player or of a guest, a population
              (`demo`) or a member (`demo/m0`) of which a snapshot plays
    span      when it was planned
    """

    env: str | None = None
    finished: bool | None = None
    player: str | None = None
    span: Span = Span()


@dataclass(frozen=True, slots=True)
class SnapshotFilter:
    """Which snapshots are wanted; None: whatever they are.

    member       that they are of
    role         that they play
    has_weights  whether their weights are there
    anchor       whether their weights are kept for ever
    superseded   also those that a resume went back behind
    span         when they were taken
    """

    member: str | None = None
    role: str | None = None
    has_weights: bool | None = None
    anchor: bool | None = None
    superseded: bool = False
    span: Span = Span()


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are wanted; None: whatever they are.

    kind        of event
    member      that they concern
    superseded  also those that a resume went back behind
    span        when they were noted
    """

    kind: str | None = None
    member: str | None = None
    superseded: bool = True
    span: Span = Span()


@dataclass(frozen=True, slots=True)
class RoundFilter:
    """Which rounds are wanted; None: whatever they are.

    member      whose rounds
    superseded  also those that a resume went back behind
    span        when they were decided
    """

    member: str | None = None
    superseded: bool = False
    span: Span = Span()


def match_page(
    league: League, wanted: MatchFilter, order: ListOrder, after: Place | None, limit: int
) -> tuple[list[Match], Place | None]:
    """(a page of matches; the place behind which the next page begins, None on the last one).

    after  the place of the last match of the page before; None: from the beginning
    """
    where = wanted.span.of(matches)
    if wanted.env is not None:
        where.append(matches.c.env_name == wanted.env)
    if wanted.finished is not None:
        ended = matches.c.finished_at
        where.append(ended.is_not(None) if wanted.finished else ended.is_(None))
    if wanted.player is not None:
        where.append(_plays(wanted.player))
    with league.read() as connection:
        rows, place = _page(connection, select(matches).where(*where), matches, order, after, limit)
    return [to_match(row) for row in rows], place


def _plays(player: str) -> ColumnElement[bool]:
    """The condition of a match that one of its players is this one."""
    population, _, member = player.partition("/")
    of_it = (
        select(snapshots.c.snapshot_id)
        .join(populations, populations.c.id == snapshots.c.population_id)
        .where(populations.c.name == population)
        .where(snapshots.c.member == member if member else true())
    )
    listed = func.json_each(matches.c.players).table_valued("value")
    name = func.json_extract(listed.c.value, "$[1]")
    return exists(select(1).select_from(listed).where(or_(name == player, name.in_(of_it))))


def snapshot_page(
    league: League,
    population: str,
    wanted: SnapshotFilter,
    order: ListOrder,
    after: Place | None,
    limit: int,
) -> tuple[list[StoredSnapshot], Place | None]:
    """As `match_page`, of the snapshots of a population. Raises: PlayerError."""
    where = wanted.span.of(snapshots)
    same: dict[str, Any] = {
        "member": wanted.member,
        "role": wanted.role,
        "is_anchor": wanted.anchor,
    }
    same["weights_removed"] = None if wanted.has_weights is None else not wanted.has_weights
    where += _equal(snapshots, same, wanted.superseded)
    with league.read() as connection:
        where.append(snapshots.c.population_id == find_population(connection, population).id)
        query = snapshot_query().where(*where)
        rows, place = _page(connection, query, snapshots, order, after, limit)
    return [to_stored_snapshot(row) for row in rows], place


def event_page(
    league: League,
    population: str,
    wanted: EventFilter,
    order: ListOrder,
    after: Place | None,
    limit: int,
) -> tuple[list[StoredEvent], Place | None]:
    """As `match_page`, of the events of a population. Raises: PlayerError."""
    same = {"kind": wanted.kind, "member": wanted.member}
    where = [*wanted.span.of(events), *_equal(events, same, wanted.superseded)]
    rows, place = _page_of_starts(league, population, events, where, order, after, limit)
    return [
        StoredEvent(from_row(Event, row), row.incarnation, bool(row.superseded), row.created_at)
        for row in rows
    ], place


def round_page(
    league: League,
    population: str,
    wanted: RoundFilter,
    order: ListOrder,
    after: Place | None,
    limit: int,
) -> tuple[list[StoredRound], Place | None]:
    """As `match_page`, of the PBT rounds of a population. Raises: PlayerError."""
    same = {"member": wanted.member}
    where = [*wanted.span.of(rounds), *_equal(rounds, same, wanted.superseded)]
    rows, place = _page_of_starts(league, population, rounds, where, order, after, limit)
    return [to_stored_round(row) for row in rows], place


def _page_of_starts(
    league: League,
    population: str,
    table: Table,
    where: Conditions,
    order: ListOrder,
    after: Place | None,
    limit: int,
) -> tuple[Sequence[Any], Place | None]:
    """A page of a table of which each row belongs to a start of a population."""
    query = select(table, incarnations.c.number.label("incarnation")).join(
        incarnations, incarnations.c.id == table.c.incarnation_id
    )
    with league.read() as connection:
        mine = incarnations.c.population_id == find_population(connection, population).id
        return _page(connection, query.where(mine, *where), table, order, after, limit)


def _equal(table: Table, values: Mapping[str, Any], superseded: bool) -> list[ColumnElement[bool]]:
    """The conditions that columns have these values; None: any.

    superseded  also rows that a resume went back behind
    """
    wanted = {**values, "superseded": None if superseded else False}
    return [table.c[name] == value for name, value in wanted.items() if value is not None]


def _page(
    connection: Connection,
    query: Select[Any],
    table: Table,
    order: ListOrder,
    after: Place | None,
    limit: int,
) -> tuple[Sequence[Any], Place | None]:
    """(the rows of the query behind a place, the place of the last one or None at the end)."""
    columns = (table.c[order.by], table.c.id)
    if after is not None:
        here, there = tuple_(*columns), tuple_(*after)
        query = query.where(here < there if order.descending else here > there)
    ordered = query.order_by(*(one.desc() if order.descending else one.asc() for one in columns))
    rows = connection.execute(ordered.limit(limit + 1)).all()
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], (getattr(last, order.by), last.id)
