"""Stored games, read page by page, so that no reader holds a view of the league for long."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
)

from arena.league.database import League, count_rows
from arena.league.populations import find_population, starts_of
from arena.league.rows import to_game
from arena.league.schema import (
    MAX_NUMBER,
    NUMBER_BITS,
    TRAINING,
    folds,
    game_key,
    game_seats,
    games,
    incarnations,
    keys_of_start,
    players,
    populations,
    snapshots,
)
from pbt.records import GameKind, GameRecord, SeatRecord

PAGE_GAMES = 2_000
# The condition is spelled as in the index on evaluation games; SQLite would not use the index for a
# parameter.
_EVALUATIONS: ColumnElement[bool] = literal_column("games.kind = 1")
_OF_GAME: ColumnElement[bool] = game_seats.c.game_id == games.c.id
_COUNTED = (games.c.voided == 0, games.c.superseded == 0)

Conditions = tuple[ColumnElement[bool], ...]
SeatResult = Literal["won", "drawn", "lost"]
"""Whether a seat was first alone, first with others, or not first."""


@dataclass(frozen=True, slots=True)
class StoredGame:
    """A game with what the league knows of it.

    record        the game
    incarnation   number of the population's start that played it, None in a match
    match_id      the match that it belongs to, None in a population
    superseded    whether it was taken back, and is played again or not counted
    committed_at  seconds since the epoch
    """

    record: GameRecord
    incarnation: int | None
    match_id: int | None
    superseded: bool
    committed_at: int


@dataclass(frozen=True, slots=True)
class GameFilter:
    """A filter of a population's games.

    kind        only games of this kind; None: all
    players     only games in which one of these sat: members, ids of snapshots, any snapshot of a
                member (`demo/m0`), or names of other players; none: all
    first       only games from this number on
    last        only games up to this number; None: all
    voided      whether voided games are included
    superseded  whether superseded games are included
    opponents   only games in which one of these sat, too, named as `players`; none: all
    result      only games in which one of the players, or without players any seat, had this result
    shortest    only games of at least so many decisions
    longest     only games of at most so many decisions; None: all
    """

    kind: GameKind | None = None
    players: tuple[str, ...] = ()
    first: int = 0
    last: int | None = None
    voided: bool = True
    superseded: bool = False
    opponents: tuple[str, ...] = ()
    result: SeatResult | None = None
    shortest: int = 0
    longest: int | None = None


def population_games(
    league: League, population: str, wanted: GameFilter = GameFilter()
) -> Iterator[StoredGame]:
    """The games of a population, by incarnation, then by number.

    Games that are committed while this runs may or may not be among them. Raises: PlayerError.
    """
    with league.read() as connection:
        population_id = int(find_population(connection, population).id)
        starts = starts_of(connection, population_id)
        where = conditions(connection, population_id, wanted)
    if where is None:
        return
    for start in starts:
        first = game_key(start.id, wanted.first)
        last = game_key(start.id, MAX_NUMBER if wanted.last is None else wanted.last)
        yield from games_between(league, first, last, where, start.number)


def newest_evaluations(league: League, population: str, count: int) -> list[GameRecord]:
    """The newest evaluation games of a population, oldest first. Raises: PlayerError.

    Superseded and voided games are left out.
    """
    with league.read() as connection:
        starts = starts_of(connection, find_population(connection, population).id)
    newest: list[GameRecord] = []
    for start in reversed(starts):
        first, last = keys_of_start(start.id)
        while len(newest) < count:
            older = select(games).where(games.c.id.between(first, last), _EVALUATIONS, *_COUNTED)
            page = older.order_by(games.c.id.desc()).limit(min(PAGE_GAMES, count - len(newest)))
            with league.read() as connection:
                stored = read_games(connection, page)
            if not stored:
                break
            newest += [game.record for _, game in stored]
            last = stored[-1][0] - 1
    return newest[::-1]


def folded_through(league: League, population: str) -> int:
    """Number of the last game that was folded, -1 before any. Raises: PlayerError.

    Scores over games up to this number cannot be recomputed.
    """
    with league.read() as connection:
        population_id = int(find_population(connection, population).id)
        key = connection.execute(
            select(folds.c.through_game_id).where(folds.c.population_id == population_id)
        ).scalar()
        if key is None:
            return -1
        later = (
            incarnations.c.population_id == population_id,
            incarnations.c.id > key >> NUMBER_BITS,
        )
        restart = connection.execute(
            select(func.min(incarnations.c.first_game)).where(*later)
        ).scalar()
    number = int(key) & MAX_NUMBER
    # From a later start's first game on, the folded rows were superseded, and no round was scored
    # from them.
    return number if restart is None else min(number, int(restart) - 1)


def conditions(connection: Connection, population_id: int, wanted: GameFilter) -> Conditions | None:
    """The SQL conditions of a filter, None when no game can match.

    Without a player they are the same objects every time, so that a statement can be cached.
    """
    where = _plain_conditions(wanted.kind, wanted.voided, wanted.superseded)
    if wanted.shortest > 0:
        where = (*where, games.c.steps >= wanted.shortest)
    if wanted.longest is not None:
        where = (*where, games.c.steps <= wanted.longest)
    for names, result in ((wanted.players, wanted.result), (wanted.opponents, None)):
        had = () if result is None else _had(result)
        if not names:
            where = (*where, exists().where(_OF_GAME, *had)) if had else where
            continue
        ids = _ids_of(connection, population_id, names)
        if not ids:
            return None
        where = (*where, exists().where(_OF_GAME, game_seats.c.player_id.in_(ids), *had))
    return where


def _ids_of(connection: Connection, population_id: int, names: Sequence[str]) -> list[int]:
    """Numbers of the players with these names; of `demo/m0` those of the member's snapshots."""
    members = [name.partition("/")[::2] for name in names if "/" in name]
    of_members = (
        select(snapshots.c.snapshot_id)
        .join(populations, populations.c.id == snapshots.c.population_id)
        .where(tuple_(populations.c.name, snapshots.c.member).in_(members))
    )
    named: ColumnElement[bool] = players.c.name.in_(names)
    if members:
        named = or_(named, players.c.name.in_(of_members))
    here = players.c.population_id.in_((0, population_id))
    return list(connection.execute(select(players.c.id).where(named, here)).scalars())


def _had(result: SeatResult) -> Conditions:
    """The conditions that a seat had a result."""
    place, other = game_seats.c.place, game_seats.alias()
    if result == "lost":
        return (place > 0,)
    beside = exists().where(
        other.c.game_id == game_seats.c.game_id,
        other.c.seat != game_seats.c.seat,
        other.c.place == 0,
    )
    return (place == 0, beside if result == "drawn" else ~beside)


@cache
def _plain_conditions(kind: GameKind | None, voided: bool, superseded: bool) -> Conditions:
    # An evaluation's condition is that of the index, so that SQLite reads no training game.
    of_kind = {
        None: (),
        "training": (games.c.kind == TRAINING,),
        "evaluation": (_EVALUATIONS,),
    }[kind]
    return (
        *of_kind,
        *(() if voided else (games.c.voided == 0,)),
        *(() if superseded else (games.c.superseded == 0,)),
    )


def games_between(
    league: League,
    first: int,
    last: int,
    where: Conditions = (),
    incarnation: int | None = None,
) -> Iterator[StoredGame]:
    """The games with keys from first to last, inclusive; each page is one short transaction."""
    while True:
        page = (
            select(games)
            .where(games.c.id.between(first, last), *where)
            .order_by(games.c.id)
            .limit(PAGE_GAMES)
        )
        with league.read() as connection:
            stored = read_games(connection, page, incarnation)
        for _, game in stored:
            yield game
        if len(stored) < PAGE_GAMES:
            return
        first = stored[-1][0] + 1


def read_games(
    connection: Connection,
    query: Select[Any],
    incarnation: int | None = None,
    parameters: Mapping[str, int] | None = None,
) -> list[tuple[int, StoredGame]]:
    """(key, game) of the rows of `games` that a query reads.

    incarnation  number of the population's start that played them, None in a match
    parameters   those of the query
    """
    rows = connection.execute(query, parameters or {}).all()
    seats = read_seats(connection, [row.id for row in rows])
    return [
        (
            row.id,
            StoredGame(
                to_game(row, seats[row.id]),
                incarnation,
                row.match_id,
                bool(row.superseded),
                row.committed_at,
            ),
        )
        for row in rows
    ]


def read_seats(connection: Connection, game_ids: Sequence[int]) -> dict[int, list[Any]]:
    """Game -> rows of its seats, in order.

    A row is (game, kind of the player, name of the player, the other fields of a SeatRecord).
    game_ids: keys of games.
    """
    rows = connection.execute(_SEATS, {"game_ids": game_ids}).all() if game_ids else ()
    return {game_id: list(seats) for game_id, seats in groupby(rows, key=itemgetter(0))}


_SEATS = (
    select(
        game_seats.c.game_id,
        players.c.kind,
        players.c.name,
        *(game_seats.c[field.name] for field in fields(SeatRecord)[1:]),
    )
    .join(players, players.c.id == game_seats.c.player_id)
    .where(game_seats.c.game_id.in_(bindparam("game_ids", expanding=True)))
    .order_by(game_seats.c.game_id, game_seats.c.seat)
)


def game_bytes(connection: Connection, count: int) -> int:
    """About how many bytes `count` games take, by their part of all game rows in the file."""
    all_games = count_rows(connection, games)
    used = connection.exec_driver_sql(
        "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM "
        "pragma_page_size)"
    ).scalar_one()
    return int(used * count / all_games) if all_games else 0
