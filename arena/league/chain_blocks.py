"""Verification of a block of training games: its row, and the games in it, against the chain."""

from collections.abc import Iterator

import numpy as np
from sqlalchemy import Connection, select

from arena.league.block_bytes import BlockError
from arena.league.block_games import digest_found_of, pair_totals, totals_text, voided
from arena.league.block_rows import StoredBlock, members_among
from arena.league.blocks import BlockColumns
from arena.league.chain import ChainRecord
from arena.league.chain_rows import PlayerNames
from arena.league.chain_state import ChainState, Difference
from arena.league.schema import MAX_NUMBER, NUMBER_BITS, block_players


def named(key: int) -> str:
    """A training game for people, with its start."""
    return f"game {key & MAX_NUMBER} (start with id {key >> NUMBER_BITS})"


def batch_words(record: ChainRecord) -> str:
    """What follows the first game of a batch in its name."""
    content = record.content
    return f" to {content.last & MAX_NUMBER} ({content.kind}, record {record.position})"


def block_differences(
    connection: Connection,
    stored: StoredBlock,
    record: ChainRecord,
    names: PlayerNames,
    state: ChainState,
) -> Iterator[Difference]:
    """Compares a block with the record of its batch."""
    where, content = f"{named(stored.id)}{batch_words(record)}", record.content
    try:
        block = stored.unpacked()
    except BlockError as error:
        yield Difference(where, str(error), "its games")
        return
    if len(block.numbers) != content.count:
        yield Difference(where, f"{len(block.numbers)} games", f"{content.count}")
    elif digest_found_of(stored.start, block, names.read_ids(connection, block.players)) != (
        content.digest
    ):
        yield Difference(where, "games of another digest", content.digest.hex()[:16])
    yield from _wrong_row(connection, stored, block, record, where)
    cut: object = stored.superseded_from
    if cut is None or isinstance(cut, int):
        yield from _wrongly_superseded(stored, block, state)
    else:
        yield Difference(f"{where}, superseded_from", repr(cut), "a key, or none")


def _wrong_row(
    connection: Connection,
    stored: StoredBlock,
    block: BlockColumns,
    record: ChainRecord,
    where: str,
) -> Iterator[Difference]:
    """Compares what follows from the games and the record."""
    off = voided(block)
    seated = select(block_players.c.player_id).where(block_players.c.block_id == stored.id)
    totals = pair_totals(block, ~off, members_among(connection, block.players))
    pairs = (
        ("first", stored.id & MAX_NUMBER, int(block.numbers[0])),
        ("last", stored.last & MAX_NUMBER, int(block.numbers[-1])),
        ("count", stored.count, len(off)),
        ("voided", stored.voided, int(off.sum())),
        ("committed_at", stored.committed_at, int(record.created_at)),
        ("totals", stored.totals, totals_text(totals)),
        ("players", sorted(connection.execute(seated).scalars()), sorted(block.players)),
    )
    for name, found, expected in pairs:
        if found != expected:
            yield Difference(f"{where}, {name}", repr(found), repr(expected))


def _wrongly_superseded(
    stored: StoredBlock, block: BlockColumns, state: ChainState
) -> Iterator[Difference]:
    keys = block.numbers + (stored.start << NUMBER_BITS)
    expected = np.zeros(len(keys), np.bool_)
    for first, last in state.superseded_in(stored.id, stored.last):
        expected |= (first <= keys) & (keys <= last)
    found = stored.superseded(block.numbers)
    for place in np.flatnonzero(found != expected)[:1].tolist():
        wrong = int((found != expected).sum())
        more = f" and {wrong - 1} games behind it" if wrong > 1 else ""
        where = f"{named(int(keys[place]))}{more}, superseded"
        yield Difference(where, f"{int(found[place])}", f"{int(expected[place])}")
