"""The rows of blocks: stored, read and superseded, in the caller's transaction."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, exists, func, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from arena.league.block_bytes import BlockError, pack, unpack
from arena.league.block_games import pair_totals, totals_text, voided
from arena.league.blocks import BlockColumns, Ints
from arena.league.rows import to_player
from arena.league.schema import (
    MAX_NUMBER,
    MEMBER,
    NUMBER_BITS,
    block_players,
    game_blocks,
    game_key,
    players,
)
from pbt.records import PlayerRef


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A row of a block.

    id               key of its first game
    last             key of its last game
    count            number of its games
    voided           how many of them were voided
    superseded_from  key from which on its games were taken back, None for none
    committed_at     seconds since the epoch
    totals           the totals of its members, as `arena.league.block_games.totals_text` makes them
    columns          its games, packed
    """

    id: int
    last: int
    count: int
    voided: int
    superseded_from: int | None
    committed_at: int
    totals: str
    columns: bytes

    @property
    def start(self) -> int:
        """Id of the start of the population that played it."""
        return self.id >> NUMBER_BITS

    def members(self, connection: Connection) -> list[str]:
        """The names of the live players who sit in its games."""
        return list(connection.execute(_MEMBERS, {"id": self.id}).scalars())

    def unpacked(self) -> BlockColumns:
        """Its games. Raises: BlockError, which names the block."""
        try:
            return unpack(self.columns)
        except BlockError as error:
            first, last = self.id & MAX_NUMBER, self.last & MAX_NUMBER
            raise BlockError(f"training games {first} to {last}: {error}") from error

    def superseded(self, numbers: Ints) -> NDArray[np.bool_]:
        """[games] whether each game was taken back. numbers: [games]."""
        if self.superseded_from is None:
            return np.zeros(len(numbers), np.bool_)
        return numbers >= self.superseded_from - (self.start << NUMBER_BITS)


_MEMBERS = (
    select(players.c.name)
    .join(block_players, block_players.c.player_id == players.c.id)
    .where(block_players.c.block_id == bindparam("id"), players.c.kind == MEMBER)
)


def insert_block(
    connection: Connection,
    incarnation_id: int,
    block: BlockColumns,
    members: Collection[int],
    committed_at: int,
) -> None:
    """Stores a block that is not there yet. members: ids of the live players."""
    key, off = game_key(incarnation_id, int(block.numbers[0])), voided(block)
    values = {
        "id": key,
        "last": game_key(incarnation_id, int(block.numbers[-1])),
        "count": len(off),
        "voided": int(off.sum()),
        "superseded_from": None,
        "committed_at": committed_at,
        "totals": totals_text(pair_totals(block, ~off, list(members))),
        "columns": pack(block),
    }
    connection.execute(_INSERT, values)
    seated = [{"block_id": key, "player_id": player} for player in block.players]
    if seated:
        connection.execute(_INSERT_PLAYERS, seated)


_INSERT, _INSERT_PLAYERS = insert(game_blocks), insert(block_players)


def blocks_between(
    connection: Connection,
    first: int,
    last: int,
    *,
    newest_first: bool = False,
    seated: Collection[Collection[int]] = (),
) -> Iterator[StoredBlock]:
    """The blocks that have games with keys from first to last, read one after the other.

    seated  sets of players; only blocks in which one of each set sits
    """
    columns = game_blocks.c
    # Blocks share no range, so only the newest one that begins before `first` can reach it.
    before = connection.execute(_BEFORE, {"first": first}).scalar()
    here = [columns.id.between(first if before is None else before, last), columns.last >= first]
    here += [
        exists().where(block_players.c.block_id == columns.id, block_players.c.player_id.in_(ids))
        for ids in seated
    ]
    order = columns.id.desc() if newest_first else columns.id
    with connection.execute(select(game_blocks).where(*here).order_by(order)) as found:
        for row in found:
            yield StoredBlock(*row)


_BEFORE = select(func.max(game_blocks.c.id)).where(game_blocks.c.id <= bindparam("first"))


def block_at(connection: Connection, key: int) -> StoredBlock | None:
    """The block whose first game has this key."""
    row = connection.execute(_AT, {"key": key}).first()
    return None if row is None else StoredBlock(*row)


_AT = select(game_blocks).where(game_blocks.c.id == bindparam("key"))


def newest_block_game(connection: Connection, first: int, last: int) -> int | None:
    """The key of the newest game in blocks of one start, None without one.

    first, last: the first and the last possible key of the start's games.
    """
    newest = (
        select(game_blocks.c.last)
        .where(game_blocks.c.id.between(first, last))
        .order_by(game_blocks.c.id.desc())
    )
    key = connection.execute(newest.limit(1)).scalar()
    return None if key is None else int(key)


def games_in_blocks(connection: Connection, first: int, last: int) -> int:
    """How many games the blocks hold whose first game has a key from first to last."""
    total = select(func.coalesce(func.sum(game_blocks.c.count), 0))
    mine = game_blocks.c.id.between(first, last)
    return int(connection.execute(total.where(mine)).scalar_one())


def players_of(connection: Connection, ids: Collection[int]) -> Mapping[int, PlayerRef]:
    """Id -> player, of those that are there."""
    rows = connection.execute(_PLAYERS, {"ids": list(ids)}) if ids else ()
    return {row.id: to_player(row.kind, row.name) for row in rows}


_PLAYERS = select(players).where(players.c.id.in_(bindparam("ids", expanding=True)))


def members_among(connection: Connection, ids: Collection[int]) -> list[int]:
    """The ids of those players that are live members."""
    rows = connection.execute(_PLAYERS, {"ids": list(ids)}) if ids else ()
    return [row.id for row in rows if row.kind == MEMBER]


def delete_blocks(connection: Connection, ids: Collection[int]) -> None:
    """Deletes blocks. ids: the keys of their first games."""
    for table, key in ((block_players, block_players.c.block_id), (game_blocks, game_blocks.c.id)):
        connection.execute(delete(table).where(key.in_(ids)))


def supersede_blocks(
    connection: Connection, incarnation_id: int, last_game: int
) -> tuple[int, int] | None:
    """Takes back the games in blocks of a start after a number, where they stand so far.

    Returns (key of the first, key of the last) game of the blocks that changed, None for none.
    """
    cut, end = game_key(incarnation_id, last_game + 1), game_key(incarnation_id, MAX_NUMBER)
    late = (
        game_blocks.c.id.between(game_key(incarnation_id, 0), end),
        game_blocks.c.last >= cut,
        or_(game_blocks.c.superseded_from.is_(None), game_blocks.c.superseded_from > cut),
    )
    ends = select(func.min(game_blocks.c.id), func.max(game_blocks.c.last)).where(*late)
    first, last = connection.execute(ends).one()
    if first is None:
        return None
    if first < cut and (straddling := block_at(connection, first)) is not None:
        numbers = straddling.unpacked().numbers
        first = game_key(incarnation_id, int(numbers[numbers > last_game][0]))
    changed = update(game_blocks).where(*late)
    connection.execute(changed.values(superseded_from=func.max(game_blocks.c.id, cut)))
    return int(first), int(last)
