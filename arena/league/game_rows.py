"""Stored games, from rows and from blocks, read page by page, so that no reader holds a view of the
league for long.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import numpy as np
from sqlalchemy import Column, Connection, Select, bindparam, func, select

from arena.league.block_games import game_records
from arena.league.block_rows import StoredBlock, blocks_between, players_of
from arena.league.blocks import BLOCK_GAMES, BlockColumns
from arena.league.database import League, count_rows
from arena.league.game_choice import (
    EVERY_GAME,
    STANDING_GAMES,
    Conditions,
    GameChoice,
    GameFilter,
    choice_of,
)
from arena.league.populations import find_population, starts_of
from arena.league.rows import to_game
from arena.league.schema import (
    IS_EVALUATION,
    MAX_NUMBER,
    NUMBER_BITS,
    folds,
    game_blocks,
    game_key,
    game_seats,
    games,
    incarnations,
    keys_of_start,
    players,
)
from pbt.records import GameRecord, PlayerRef, SeatRecord

PAGE_GAMES, PAGE_BLOCKS = 2_000, 8
_COUNTED = (games.c.voided == 0, games.c.superseded == 0)

Keyed = tuple[int, "StoredGame"]
"""A game with its key."""


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


def population_games(
    league: League, population: str, wanted: GameFilter = STANDING_GAMES
) -> Iterator[StoredGame]:
    """The games of a population, by incarnation, then by number.

    Games that are committed while this runs may or may not be among them. Raises: PlayerError.
    """
    with league.read() as connection:
        population_id = int(find_population(connection, population).id)
        starts = starts_of(connection, population_id)
        choice = choice_of(connection, population_id, wanted)
    if choice is None:
        return
    for start in starts:
        first = game_key(start.id, wanted.first)
        last = game_key(start.id, MAX_NUMBER if wanted.last is None else wanted.last)
        yield from games_between(league, first, last, choice, start.number)


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
            older = select(games).where(games.c.id.between(first, last), IS_EVALUATION, *_COUNTED)
            page = older.order_by(games.c.id.desc()).limit(min(PAGE_GAMES, count - len(newest)))
            with league.read() as connection:
                stored = read_games(connection, page)
            if not stored:
                break
            newest += [game.record for _, game in stored]
            last = stored[-1][0] - 1
    return newest[::-1]


def folded_through(league: League, population: str) -> int:
    """Number of the newest game that was folded, -1 before any. Raises: PlayerError.

    Of the games up to this number, those that rounds were scored from are still there.
    """
    return _folded_number(league, population, folds.c.through_game_id)


def cut_through(league: League, population: str) -> int:
    """Number of the last game that an earlier program folded, -1 before any. Raises: PlayerError.

    Scores over games up to this number cannot be recomputed.
    """
    return _folded_number(league, population, folds.c.cut_game_id)


def _folded_number(league: League, population: str, through: Column[int]) -> int:
    with league.read() as connection:
        population_id = int(find_population(connection, population).id)
        key = connection.execute(
            select(through).where(folds.c.population_id == population_id)
        ).scalar()
        if not key:
            return -1
        later = (
            incarnations.c.population_id == population_id,
            incarnations.c.id > key >> NUMBER_BITS,
        )
        restart = connection.execute(
            select(func.min(incarnations.c.first_game)).where(*later)
        ).scalar()
    number = int(key) & MAX_NUMBER
    # From a later start's first game on, the folded games were superseded, and no round was scored
    # from them.
    return number if restart is None else min(number, int(restart) - 1)


def games_between(
    league: League,
    first: int,
    last: int,
    choice: GameChoice = EVERY_GAME,
    incarnation: int | None = None,
) -> Iterator[StoredGame]:
    """The chosen games with keys from first to last; each page is one short transaction."""
    rows = _rows_by_page(league, first, last, choice.rows, incarnation)
    blocks = _blocks_by_page(league, first, last, choice, incarnation)
    return map(itemgetter(1), merge(rows, blocks, key=itemgetter(0)))


def _rows_by_page(
    league: League, first: int, last: int, where: Conditions, incarnation: int | None
) -> Iterator[Keyed]:
    while True:
        page = select(games).where(games.c.id.between(first, last), *where)
        with league.read() as connection:
            stored = read_games(
                connection, page.order_by(games.c.id).limit(PAGE_GAMES), incarnation
            )
        yield from stored
        if len(stored) < PAGE_GAMES:
            return
        first = stored[-1][0] + 1


def _blocks_by_page(
    league: League, first: int, last: int, choice: GameChoice, incarnation: int | None
) -> Iterator[Keyed]:
    if choice.wanted.kind == "evaluation":
        return
    while True:
        with league.read() as connection:
            found = blocks_between(connection, first, last, seated=choice.players)
            page = [(stored, stored.unpacked()) for stored in islice(found, PAGE_BLOCKS)]
            known = players_of(connection, {one for _, block in page for one in block.players})
        for stored, block in page:
            yield from _games_of_block(stored, block, known, (first, last), choice, incarnation)
        if len(page) < PAGE_BLOCKS:
            return
        first = page[-1][0].last + 1


def _games_of_block(
    stored: StoredBlock,
    block: BlockColumns,
    known: Mapping[int, PlayerRef],
    keys: tuple[int, int],
    choice: GameChoice,
    incarnation: int | None,
    newest: int = BLOCK_GAMES,
) -> list[Keyed]:
    """The chosen games of a block.

    block   its games
    known   id of a player -> the player
    keys    only games with keys from the first to the second
    newest  only so many of them
    """
    of_games = block.numbers + (stored.start << NUMBER_BITS)
    here = (keys[0] <= of_games) & (of_games <= keys[1])
    chosen = np.flatnonzero(choice.chosen(stored, block) & here)[-newest:]
    gone = stored.superseded(block.numbers)[chosen].tolist()
    records = game_records(block, chosen.tolist(), known)
    return [
        (key, StoredGame(record, incarnation, None, superseded, stored.committed_at))
        for key, record, superseded in zip(of_games[chosen].tolist(), records, gone, strict=True)
    ]


def newest_games(
    connection: Connection,
    first: int,
    last: int,
    choice: GameChoice,
    most: int,
    incarnation: int | None = None,
) -> list[Keyed]:
    """The newest `most` chosen games with keys from first to last, newest first."""
    bounds = {"first": first, "last": last, "most": most}
    found = read_games(connection, _newest_rows(choice.rows), incarnation, bounds)
    if choice.wanted.kind == "evaluation":
        return found
    in_blocks: list[Keyed] = []
    for stored in blocks_between(connection, first, last, newest_first=True, seated=choice.players):
        if len(in_blocks) >= most or (len(found) == most and stored.last < found[-1][0]):
            break
        block = stored.unpacked()
        known = players_of(connection, block.players)
        mine = _games_of_block(
            stored, block, known, (first, last), choice, incarnation, most - len(in_blocks)
        )
        in_blocks += reversed(mine)
    return list(islice(merge(found, in_blocks, key=itemgetter(0), reverse=True), most))


@lru_cache(maxsize=32)
def _newest_rows(where: Conditions) -> Select[Any]:
    """The newest `most` rows with keys from `first` to `last`."""
    mine = games.c.id.between(bindparam("first"), bindparam("last"))
    return select(games).where(mine, *where).order_by(games.c.id.desc()).limit(bindparam("most"))


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
    """About how many bytes `count` games take, by their part of all games in the file."""
    in_blocks = connection.execute(select(func.coalesce(func.sum(game_blocks.c.count), 0)))
    all_games = count_rows(connection, games) + int(in_blocks.scalar_one())
    used = connection.exec_driver_sql(
        "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM "
        "pragma_page_size)"
    ).scalar_one()
    return int(used * count / all_games) if all_games else 0
