"""Training games of a commit become blocks. A commit may be repeated: what is stored is left
out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, select

from arena.league.block_games import digest_block
from arena.league.block_rows import blocks_between, insert_block
from arena.league.blocks import (
    BLOCK_GAMES,
    BlockColumns,
    columns_of,
    joined,
    refuse_one_count_twice,
)
from arena.league.chain import ChainContent
from arena.league.chain_rows import TRAINING_GAMES, player_name
from arena.league.schema import MAX_NUMBER, MEMBER, NUMBER_BITS, game_key, games
from arena.league.told_games import ToldGames, columns_of_told
from pbt.errors import EngineError
from pbt.records import GameRecord, PlayerRef

_Told = tuple[int, int, int, bytes]
"""By what a game is known: its table, its count there, its seed and its trajectory."""


class NewBlocks:
    """Inserts blocks of one start, in the caller's transaction.

    id_of  the id of a player
    names  id of a player -> its name in digests
    """

    def __init__(
        self,
        connection: Connection,
        incarnation_id: int,
        id_of: Callable[[PlayerRef], int],
        names: Mapping[int, str],
    ) -> None:
        self._connection, self._start = connection, incarnation_id
        self._id_of, self._names = id_of, names

    def insert(
        self,
        told: Sequence[ToldGames],
        records: Sequence[GameRecord],
        taken: Sequence[int],
        now: int,
    ) -> list[ChainContent]:
        """Inserts training games. Returns the records of those that were not stored yet.

        told     those that ended well
        records  the others
        taken    keys of the evaluation games of this commit
        now      seconds since the epoch
        Raises: EngineError when a game has the number of another one, or one that is not greater
        than those of the blocks that are stored; as `columns_of`.
        """
        _refuse_in_blocks(self._connection, taken)
        parts = [columns_of_told(told, self._id_of)] if told else []
        if records:
            parts.append(columns_of(records, self._id_of))
        new = self._not_stored(_each_once(joined(parts))) if parts else None
        return [self._insert(block, taken, now) for block in _blocks(new)] if new else []

    def _insert(self, block: BlockColumns, taken: Sequence[int], now: int) -> ChainContent:
        refuse_one_count_twice(block.games)
        _refuse_shared(block, taken)
        live = player_name(MEMBER, "")
        members = [player for player in block.players if self._names[player].startswith(live)]
        insert_block(self._connection, self._start, block, members, now)
        first, last = (game_key(self._start, int(number)) for number in block.numbers[[0, -1]])
        digest = digest_block(self._start, block, self._names)
        return ChainContent(TRAINING_GAMES, first, last, len(block.numbers), digest)

    def _not_stored(self, given: BlockColumns) -> BlockColumns | None:
        """Those of the games that are not stored yet; None where all are."""
        first, last = given.numbers[[0, -1]].tolist()
        known = dict(_stored(self._connection, self._start, first, last))
        if not known:
            return given
        new = []
        for place, (number, told) in enumerate(_of_block(given)):
            if (found := known.get(number)) is None:
                new.append(place)
            elif found != told:
                raise _given_twice(number, found)
        numbers = given.numbers[new].tolist()
        if numbers and numbers[0] < max(known):
            raise EngineError(
                f"game number {numbers[0]} came after game number {max(known)}; expected games in "
                "the order of their numbers"
            )
        return given.part(np.array(new, np.int64)) if new else None


def _blocks(games: BlockColumns) -> Iterator[BlockColumns]:
    """The games in parts of at most BLOCK_GAMES."""
    count = len(games.numbers)
    if count <= BLOCK_GAMES:
        yield games
        return
    for start in range(0, count, BLOCK_GAMES):
        yield games.part(np.arange(start, min(start + BLOCK_GAMES, count)))


def _each_once(games: BlockColumns) -> BlockColumns:
    """The games without those that were given twice. Raises: EngineError where these differ."""
    again = np.diff(games.numbers, prepend=-1) == 0
    if not again.any():
        return games
    told = list(_of_block(games))
    for place in np.flatnonzero(again).tolist():
        if told[place] != told[place - 1]:
            raise _given_twice(*told[place - 1])
    return games.part(np.flatnonzero(~again))


def _stored(
    connection: Connection, incarnation_id: int, first: int, last: int
) -> Iterator[tuple[int, _Told]]:
    """(number, what is known) of the stored games of a start between two numbers."""
    keys = {"first": game_key(incarnation_id, first), "last": game_key(incarnation_id, last)}
    for number, *told in connection.execute(_ROWS, keys):
        yield number, tuple(told)
    for stored in blocks_between(connection, keys["first"], keys["last"]):
        yield from _of_block(stored.unpacked())


def _of_block(block: BlockColumns) -> Iterator[tuple[int, _Told]]:
    names = ("number", "environment", "count", "seed")
    columns = [block.games[name].tolist() for name in names]
    for number, *told in zip(*columns, block.hashes, strict=True):
        yield number, tuple(told)


_ROWS = select(
    games.c.number, games.c.environment, games.c.count, games.c.seed, games.c.trajectory_hash
).where(games.c.id.between(bindparam("first"), bindparam("last")))


def _refuse_in_blocks(connection: Connection, keys: Iterable[int]) -> None:
    """Raises: EngineError when a game of a block has one of these keys, which are of one start."""
    wanted = set(keys)
    for stored in blocks_between(connection, min(wanted), max(wanted)) if wanted else ():
        for number, told in _of_block(stored.unpacked()):
            if stored.start << NUMBER_BITS | number in wanted:
                raise _given_twice(number, told)


def _refuse_shared(block: BlockColumns, keys: Sequence[int]) -> None:
    """Raises: EngineError when a game of a block has the number of one of these keys."""
    numbers = np.array(keys, np.int64) & MAX_NUMBER
    for number in numbers[np.isin(numbers, block.numbers)][:1].tolist():
        told = dict(_of_block(block))[number]
        raise _given_twice(number, told)


def _given_twice(number: int, stored: _Told) -> EngineError:
    return EngineError(
        f"game number {number} was given twice: stored from environment {stored[0]}, "
        f"seed {stored[2]}; expected another number"
    )
