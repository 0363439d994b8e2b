"""What others read from the league: frozen dataclasses and records, never rows. Every function
takes its own short transactions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Connection, Select, Table, bindparam, func, select

from arena.data.paths import IMPORTED
from arena.league.database import League
from arena.league.frames import frames_text
from arena.league.lineage import RoundDecision
from arena.league.populations import find_population, game_bytes
from arena.league.rows import to_directive, to_round, to_snapshot
from arena.league.schema import (
    NUMBER_BITS,
    events,
    game_key,
    games,
    incarnations,
    members,
    populations,
    rounds,
    snapshots,
)
from pbt.records import Event, RoundRecord, SnapshotRecord


@dataclass(frozen=True, slots=True)
class PopulationSummary:
    """games: played so far (the newest incarnation's running number);  frames: of the member
    furthest on, as far as snapshots and rounds tell;
    size_bytes: of its rows, an estimate;  created_at: seconds since 1970;  incarnations: how often
    it was started
    """

    id: int
    name: str
    env_name: str
    state: str
    created_at: float
    members: int
    incarnations: int
    frames: int
    games: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class MemberSummary:
    """frames, generation, version: of its newest snapshot, 0 before any;  snapshots: with
    weights;  hyperparams: after its last round, else {}
    """

    name: str
    role: str
    position: int
    frames: int
    generation: int
    version: int
    snapshots: int
    newest_snapshot: str | None
    rounds: int
    hyperparams: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StoredRound:
    record: RoundRecord
    incarnation: int
    superseded: bool
    created_at: float


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """population: its name;  after_game: the number of the last game stored before it, -1 before
    any;  created_at: seconds since 1970
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
        """A name it can be called by: `demo/m2@1.21M`, `imported/best`."""
        at = "" if self.population == IMPORTED else f"@{frames_text(self.record.frames)}"
        return f"{self.population}/{self.record.member}{at}"


@dataclass(frozen=True, slots=True)
class StoredEvent:
    event: Event
    incarnation: int
    superseded: bool
    created_at: float


def list_populations(league: League) -> list[PopulationSummary]:
    """By name."""
    with league.read() as connection:
        rows = connection.execute(select(populations).order_by(populations.c.name)).all()
        return [_summary(connection, row) for row in rows]


def _summary(connection: Connection, row: Any) -> PopulationSummary:
    starts = _starts(connection, row.id)
    ids = [start.id for start in starts]
    stored = connection.execute(
        select(func.count()).select_from(games).where(games.c.incarnation_id.in_(ids))
    ).scalar_one()
    seated = connection.execute(
        select(func.count()).select_from(members).where(members.c.population_id == row.id)
    ).scalar_one()
    reached = [
        connection.execute(
            select(func.max(table.c.frames)).where(
                table.c.incarnation_id.in_(ids), table.c.superseded == 0
            )
        ).scalar()
        or 0
        for table in (snapshots, rounds)
    ]
    played = _last_number(connection, starts[-1]) + 1 if starts else 0
    size = game_bytes(connection, stored)
    return PopulationSummary(
        row.id,
        row.name,
        row.env_name,
        row.state,
        row.created_at,
        seated,
        len(starts),
        max(reached),
        played,
        size,
    )


def _starts(connection: Connection, population_id: int) -> list[Any]:
    return list(
        connection.execute(
            select(incarnations)
            .where(incarnations.c.population_id == population_id)
            .order_by(incarnations.c.number)
        )
    )


def _last_number(connection: Connection, start: Any) -> int:
    mine = (games.c.id >= game_key(start.id, 0), games.c.id < game_key(start.id + 1, 0))
    key = connection.execute(select(func.max(games.c.id)).where(*mine)).scalar()
    return int(start.first_game) - 1 if key is None else int(key) & ((1 << NUMBER_BITS) - 1)


def list_members(league: League, population: str) -> list[MemberSummary]:
    """In order. Raises: PlayerError."""
    with league.read() as connection:
        of = {"population_id": find_population(connection, population).id}
        rows = connection.execute(_MEMBERS, of).all()
        newest = {row.member: row for row in connection.execute(_NEWEST_SNAPSHOTS, of)}
        last = {row.member: row for row in connection.execute(_LAST_ROUNDS, of)}
    return [_summary_of_member(row, newest.get(row.name), last.get(row.name)) for row in rows]


def member_names(league: League, population: str) -> list[str]:
    """In order. Raises: PlayerError."""
    with league.read() as connection:
        of = {"population_id": find_population(connection, population).id}
        return [row.name for row in connection.execute(_MEMBERS, of)]


def _last_of_each_member(
    table: Any, mine: Any, order: Sequence[Any], *columns: Any, total: Any
) -> Select[Any]:
    """Of the rows that stand: the columns of each member's last one, by the order, and `total`
    over all of its rows. Only of that are they read.
    """
    place = (
        func.row_number()
        .over(partition_by=table.member, order_by=[column.desc() for column in order])
        .label("place")
    )
    all_of = total.over(partition_by=table.member).label("total")
    ranked = select(table.id, place, all_of).where(mine, table.superseded == 0).subquery()
    return (
        select(table.member, *columns, ranked.c.total)
        .join(ranked, ranked.c.id == table.id)
        .where(ranked.c.place == 1)
    )


# Statements are built once, for `population_id`: building one, and the key it is remembered by,
# takes several times as long as SQLite does.
_ID: BindParameter[int] = bindparam("population_id")
_MEMBERS = select(members).where(members.c.population_id == _ID).order_by(members.c.position)
_made, _decided = snapshots.c, rounds.c
_NEWEST_SNAPSHOTS = _last_of_each_member(
    _made,
    _made.population_id == _ID,
    (_made.frames, _made.id),
    _made.frames,
    _made.snapshot_id,
    _made.generation,
    _made.version,
    total=func.sum(1 - _made.weights_removed),
)
_LAST_ROUNDS = _last_of_each_member(
    _decided,
    _decided.incarnation_id.in_(
        select(incarnations.c.id).where(incarnations.c.population_id == _ID)
    ),
    (_decided.round,),
    _decided.directive,
    total=func.count(),
)


def _summary_of_member(row: Any, newest: Any | None, last: Any | None) -> MemberSummary:
    return MemberSummary(
        name=row.name,
        role=row.role,
        position=row.position,
        frames=newest.frames if newest else 0,
        generation=newest.generation if newest else 0,
        version=newest.version if newest else 0,
        snapshots=newest.total if newest else 0,
        newest_snapshot=newest.snapshot_id if newest else None,
        rounds=last.total if last else 0,
        hyperparams=to_directive(last.directive).hyperparams if last else {},
    )


def list_rounds(league: League, population: str, *, superseded: bool = False) -> list[StoredRound]:
    """With all their inputs, in the order they were decided. superseded: those, too, that a
    resume took back. Raises: PlayerError.
    """
    rows = _of_population(league, population, rounds, superseded=superseded)
    return [
        StoredRound(to_round(row), row.incarnation, bool(row.superseded), row.created_at)
        for row in rows
    ]


def list_decisions(
    league: League, population: str, member: str | None = None
) -> list[RoundDecision]:
    """Of the rounds that stand, in their order; a fraction of what `list_rounds` reads. Raises:
    PlayerError.
    """
    wanted = (rounds.c.directive, rounds.c.frames, rounds.c.verdict, rounds.c.created_at)
    rows = _of_population(league, population, rounds, wanted, superseded=False, member=member)
    return [
        RoundDecision(to_directive(row.directive), row.frames, row.verdict, row.created_at)
        for row in rows
    ]


def list_events(
    league: League, population: str, *, superseded: bool = True, limit: int | None = None
) -> list[StoredEvent]:
    """Oldest first; limit: only so many of the newest. Raises: PlayerError."""
    rows = _of_population(league, population, events, superseded=superseded, newest=limit)
    return [
        StoredEvent(
            Event(row.kind, row.member, row.frames, row.text),
            row.incarnation,
            bool(row.superseded),
            row.created_at,
        )
        for row in rows
    ]


def list_snapshots(
    league: League, population: str, member: str | None = None, *, superseded: bool = False
) -> list[StoredSnapshot]:
    """By frames, then as made. Raises: PlayerError."""
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
        _snapshot_query()
        .where(snapshots.c.population_id == _ID)
        .order_by(snapshots.c.frames, snapshots.c.id)
    )
    query = query.where(snapshots.c.member == bindparam("member")) if of_member else query
    return query if superseded else query.where(snapshots.c.superseded == 0)


def _snapshot_query() -> Select[Any]:
    return select(snapshots, populations.c.name.label("population")).join(
        populations, populations.c.id == snapshots.c.population_id
    )


def to_stored_snapshot(row: Any) -> StoredSnapshot:
    flags = bool(row.is_anchor), bool(row.weights_removed), bool(row.superseded)
    return StoredSnapshot(to_snapshot(row), row.population, *flags, row.after_game, row.created_at)


def imported_snapshots(league: League) -> list[StoredSnapshot]:
    """Those taken in from other leagues, by name, which stands for the member. Raises:
    SnapshotError for a damaged card.
    """
    if not (league.path.parent / IMPORTED).is_dir():
        return []
    # Cards are read by pydantic, which takes a quarter of a second to load.
    from arena.data.cards import imported_cards

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
    """By id; of equal content under several names, that of the population asked for, else one
    trained here before an imported one.
    """
    imported = {stored.record.snapshot_id: stored for stored in imported_snapshots(league)}
    with league.read() as connection:
        found = sorted(
            snapshots_of(connection, snapshot_ids),
            key=lambda stored: stored.population == population,
        )
    wanted = {
        snapshot_id: imported[snapshot_id]
        for snapshot_id in snapshot_ids
        if snapshot_id in imported
    }
    return {**wanted, **{stored.record.snapshot_id: stored for stored in found}}


def snapshots_of(
    connection: Connection, snapshot_ids: Sequence[str] | None = None, id_prefix: str | None = None
) -> list[StoredSnapshot]:
    """By their ids, or by the beginning of one; newest first. The same content may stand in
    several populations.
    """
    query = _snapshot_query().order_by(snapshots.c.id.desc())
    if snapshot_ids is not None:
        query = query.where(snapshots.c.snapshot_id.in_(snapshot_ids))
    if id_prefix is not None:
        query = query.where(
            snapshots.c.snapshot_id >= id_prefix, snapshots.c.snapshot_id < id_prefix + "~"
        )
    return [to_stored_snapshot(row) for row in connection.execute(query)]


def _of_population(
    league: League,
    population: str,
    table: Table,
    columns: tuple[Any, ...] = (),
    *,
    superseded: bool,
    member: str | None = None,
    newest: int | None = None,
) -> list[Any]:
    """Rows of a table of incarnations with the incarnation's number beside them, as they were
    written.

    columns: only these;  member: only of that one;  newest: only so many. Raises: PlayerError.
    """
    with league.read() as connection:
        of = {
            "population_id": find_population(connection, population).id,
            "newest": -1 if newest is None else newest,
        }
        of |= {} if member is None else {"member": member}
        return list(
            connection.execute(
                _rows_of_population(table, columns, superseded, member is not None), of
            )
        )[::-1]


@cache
def _rows_of_population(
    table: Table, columns: tuple[Any, ...], superseded: bool, of_member: bool
) -> Select[Any]:
    """Newest first. `newest` is how many, -1 for all of them."""
    query = select(*(columns or (table,)), incarnations.c.number.label("incarnation")).join(
        incarnations, incarnations.c.id == table.c.incarnation_id
    )
    query = (
        query.where(incarnations.c.population_id == _ID)
        .order_by(table.c.id.desc())
        .limit(bindparam("newest"))
    )
    query = query.where(table.c.member == bindparam("member")) if of_member else query
    return query if superseded else query.where(table.c.superseded == 0)
