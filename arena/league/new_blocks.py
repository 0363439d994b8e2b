"""Training games of a commit become blocks. A commit may be repeated: what is stored is left
out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, lt

import numpy as np
from sqlalchemy import Connection, bindparam, select

from arena.league.block_games import digest_block
from arena.league.block_rows import blocks_between, insert_block
from arena.league.blocks import BLOCK_GAMES, BlockColumns, columns_of
from arena.league.chain import ChainContent
from arena.league.chain_rows import TRAINING_GAMES, player_name
from arena.league.rows import trajectory_of
from arena.league.schema import MAX_NUMBER, MEMBER, NUMBER_BITS, game_key, games
from pbt.errors import EngineError
from pbt.records import GameRecord, PlayerRef

_Told = tuple[int, int, int, bytes]
"""By what a game is known: its table, its count there, its seed and its trajectory."""


def _told(record: GameRecord) -> _Told:
    return record.environment, record.count, record.seed, trajectory_of(record)


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
        self, records: Sequence[GameRecord], taken: Sequence[int], now: int
    ) -> list[ChainContent]:
        """Inserts training games. Returns the records of those that were not stored yet.

        taken  keys of the evaluation games of this commit
        now    seconds since the epoch
        Raises: EngineError when a game has the number of another one, or one that is not greater
        than those of the blocks that are stored; as `columns_of`.
        """
        _refuse_in_blocks(self._connection, taken)
        new = _not_stored(self._connection, self._start, records) if records else []
        parts = (new[at : at + BLOCK_GAMES] for at in range(0, len(new), BLOCK_GAMES))
        return [self._insert(columns_of(part, self._id_of), taken, now) for part in parts]

    def _insert(self, block: BlockColumns, taken: Sequence[int], now: int) -> ChainContent:
        _refuse_shared(block, taken)
        live = player_name(MEMBER, "")
        members = [player for player in block.players if self._names[player].startswith(live)]
        insert_block(self._connection, self._start, block, members, now)
        first, last = (game_key(self._start, int(number)) for number in block.numbers[[0, -1]])
        digest = digest_block(self._start, block, self._names)
        return ChainContent(TRAINING_GAMES, first, last, len(block.numbers), digest)


def _not_stored(
    connection: Connection, incarnation_id: int, records: Sequence[GameRecord]
) -> list[GameRecord]:
    """Those of the training games that are not stored yet, each once, by number."""
    ordered = _ascending(records)
    ends = ordered[0].number, ordered[-1].number
    known = dict(_stored(connection, incarnation_id, *ends))
    new = []
    for record in ordered:
        if (found := known.get(record.number)) is None:
            new.append(record)
        elif found != _told(record):
            raise _given_twice(record.number, found)
    for one in new if known else ():
        if any(one.number < number for number in known):
            raise EngineError(
                f"game number {one.number} came after game number {max(known)}; expected games in "
                "the order of their numbers"
            )
    return new


def _ascending(records: Sequence[GameRecord]) -> list[GameRecord]:
    numbers = list(map(attrgetter("number"), records))
    if all(map(lt, numbers, numbers[1:])):
        return list(records)
    by_number: dict[int, GameRecord] = {}
    for record in records:
        other = by_number.setdefault(record.number, record)
        if _told(other) != _told(record):
            raise _given_twice(record.number, _told(other))
    return [by_number[number] for number in sorted(by_number)]


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
