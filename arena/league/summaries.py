"""Summaries of populations and their members, for lists.

Functions return frozen dataclasses, never rows, and take their own short transactions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Connection, Select, bindparam, func, select

from arena.league.block_rows import games_in_blocks, newest_block_game
from arena.league.database import League, count_rows
from arena.league.game_rows import game_bytes
from arena.league.populations import find_population, starts_of
from arena.league.rows import from_row, to_directive
from arena.league.schema import (
    MAX_NUMBER,
    games,
    incarnations,
    keys_of_start,
    members,
    populations,
    rounds,
    snapshots,
)


@dataclass(frozen=True, slots=True)
class PopulationSummary:
    """The summary of a population.

    id            id in the league
    name          name of the population
    env_name      the game
    state         a word for people, such as running or finished
    created_at    seconds since the epoch
    members       how many members it has
    incarnations  how often it was started
    frames        of the member with most frames, by snapshots and rounds
    games         games played so far, by the newest incarnation's numbers
    size_bytes    of its rows, an estimate
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
    """The summary of a member. Numbers of its newest snapshot are 0 before the first.

    name             name of the member
    role             the role that it learns
    position         its place among the members
    frames           of its newest snapshot
    generation       of its newest snapshot
    version          of its newest snapshot
    snapshots        how many of its snapshots have their weights
    newest_snapshot  id of its newest snapshot, None before the first
    rounds           how many PBT rounds it had
    hyperparams      after its last round, {} before the first
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


def list_populations(league: League) -> list[PopulationSummary]:
    """All populations, sorted by name."""
    with league.read() as connection:
        rows = connection.execute(select(populations).order_by(populations.c.name)).all()
        return [_summary(connection, row) for row in rows]


def _summary(connection: Connection, row: Any) -> PopulationSummary:
    starts = starts_of(connection, row.id)
    ids = [start.id for start in starts]
    stored = count_rows(connection, games, games.c.incarnation_id.in_(ids))
    stored += sum(games_in_blocks(connection, *keys_of_start(start)) for start in ids)
    reached = [
        connection.execute(
            select(func.max(table.c.frames)).where(
                table.c.incarnation_id.in_(ids), table.c.superseded == 0
            )
        ).scalar()
        or 0
        for table in (snapshots, rounds)
    ]
    return from_row(
        PopulationSummary,
        row,
        members=count_rows(connection, members, members.c.population_id == row.id),
        incarnations=len(starts),
        frames=max(reached),
        games=_last_number(connection, starts[-1]) + 1 if starts else 0,
        size_bytes=game_bytes(connection, stored),
    )


def _last_number(connection: Connection, start: Any) -> int:
    keys = keys_of_start(start.id)
    row = connection.execute(select(func.max(games.c.id)).where(games.c.id.between(*keys))).scalar()
    found = [key for key in (row, newest_block_game(connection, *keys)) if key is not None]
    return max(found) & MAX_NUMBER if found else int(start.first_game) - 1


def newest_game(league: League, population: str) -> int:
    """A number that grows with every game of a population's newest start; 0 before any.

    Raises: PlayerError.
    """
    with league.read() as connection:
        starts = starts_of(connection, find_population(connection, population).id)
        return _last_number(connection, starts[-1]) + 1 if starts else 0


def list_members(league: League, population: str) -> list[MemberSummary]:
    """The members of a population, in order. Raises: PlayerError."""
    with league.read() as connection:
        of = {"population_id": find_population(connection, population).id}
        rows = connection.execute(_MEMBERS, of).all()
        newest = {row.member: row for row in connection.execute(_NEWEST_SNAPSHOTS, of)}
        last = {row.member: row for row in connection.execute(_LAST_ROUNDS, of)}
    return [_summary_of_member(row, newest.get(row.name), last.get(row.name)) for row in rows]


def member_names(league: League, population: str) -> list[str]:
    """The names of a population's members, in order. Raises: PlayerError."""
    with league.read() as connection:
        of = {"population_id": find_population(connection, population).id}
        return [row.name for row in connection.execute(_MEMBERS, of)]


def roles_of(league: League, population: str) -> list[str]:
    """The roles that a population's members play, in the members' order. Raises: PlayerError."""
    with league.read() as connection:
        of = {"population_id": find_population(connection, population).id}
        return list(dict.fromkeys(row.role for row in connection.execute(_MEMBERS, of)))


def _last_of_each_member(
    table: Any, mine: Any, order: Sequence[Any], *columns: Any, total: Any
) -> Select[Any]:
    """The query of each member's last row that is not superseded, with a total over all of them.

    table    columns of the table
    mine     condition of the rows
    order    columns by which a row is the last
    columns  columns that are read, of the last row only
    total    aggregate over all of the member's rows
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


# Statements are built once, with a parameter for the population: building one, with the key by
# which SQLAlchemy caches it, takes several times as long as SQLite takes to run it.
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
