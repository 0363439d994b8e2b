"""Blocks that are altered, or taken apart into the rows that earlier programs wrote."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from arena.league.block_games import game_records
from arena.league.block_rows import (
    StoredBlock,
    blocks_between,
    delete_blocks,
    insert_block,
    members_among,
    players_of,
)
from arena.league.blocks import columns_of
from arena.league.database import League
from arena.league.rows import game_row, insert_sql, seat_row
from arena.league.schema import LARGEST_MATCH, game_blocks, game_key, game_seats, games, players
from pbt.records import GameRecord

Edit = Callable[[GameRecord], GameRecord | None]
"""Makes another game of one, or None to take it away."""
LAST_KEY = game_key(LARGEST_MATCH, 0)


def records_of(connection: Connection, stored: StoredBlock) -> list[GameRecord]:
    block = stored.unpacked()
    known = players_of(connection, block.players)
    return list(game_records(block, range(stored.count), known))


def alter_games(league: League, edit: Edit) -> None:
    """Alter training games in blocks, and all of a block's row that follows from its games."""
    alter_blocks(league, lambda records: [one for one in map(edit, records) if one is not None])


def alter_blocks(league: League, edit: Callable[[list[GameRecord]], Sequence[GameRecord]]) -> None:
    """As `alter_games`. edit: makes other games of those of a block; none: the block goes."""
    with league.write() as connection:
        for stored in list(blocks_between(connection, 0, LAST_KEY)):
            records = records_of(connection, stored)
            if (new := list(edit(list(records)))) == records:
                continue
            everyone = connection.execute(select(players.c.id)).scalars().all()
            here = stored.unpacked().players
            ids = {
                player: key
                for some in (everyone, here)
                for key, player in players_of(connection, some).items()
            }
            delete_blocks(connection, [stored.id])
            if not new:
                continue
            block = columns_of(new, ids.__getitem__)
            members = members_among(connection, block.players)
            insert_block(connection, stored.start, block, members, stored.committed_at)
            mine = game_blocks.c.id == game_key(stored.start, new[0].number)
            gone = game_blocks.update().where(mine)
            connection.execute(gone.values(superseded_from=stored.superseded_from))


def alter_game(league: League, number: int, **values: object) -> None:
    """Alter fields of the training game with this number."""
    alter_games(
        league,
        lambda record: replace(record, **values) if record.number == number else record,  # type: ignore[arg-type]
    )


def into_rows(league: League) -> None:
    """Store every training game as earlier programs did, in a row of its own."""
    with league.write() as connection:
        for stored in list(blocks_between(connection, 0, LAST_KEY)):
            ids = {
                one: key for key, one in players_of(connection, stored.unpacked().players).items()
            }
            gone = stored.superseded(stored.unpacked().numbers).tolist()
            for record, superseded in zip(records_of(connection, stored), gone, strict=True):
                key = game_key(stored.start, record.number)
                row = list(game_row(key, stored.start, None, record, stored.committed_at))
                row[games.c.keys().index("superseded")] = int(superseded)
                seats = [
                    seat_row(key, seat, ids[one.player], one)
                    for seat, one in enumerate(record.seats)
                ]
                connection.exec_driver_sql(insert_sql(games, ("id",)), tuple(row))
                connection.exec_driver_sql(insert_sql(game_seats, ("game_id", "seat")), seats)
            delete_blocks(connection, [stored.id])
