"""What an attacker with write access to the league does: alter rows, and make their chain anew."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy import delete as delete_from

from arena.data.paths import league_path
from arena.league.block_games import digest_block
from arena.league.block_rows import blocks_between
from arena.league.chain import (
    BEFORE_FIRST,
    ChainContent,
    ChainOwner,
    ChainRecord,
    next_head,
    read_records,
)
from arena.league.chain_rows import (
    GAME_KINDS,
    ROW_KINDS,
    TRAINING_GAMES,
    PlayerNames,
    games_content,
    parse_runs,
    read_game_rows,
    stored_rows,
)
from arena.league.chain_state import ChainState
from arena.league.compaction import FOLD, fold_digest, period_digest
from arena.league.database import League, open_league
from arena.league.rows import to_json
from arena.league.schema import MAX_NUMBER, chain, incarnations


def execute(data: Path, statement: str, *values: object) -> list[Any]:
    """Run one statement against the league, past every check of the program."""
    with sqlite3.connect(league_path(data)) as connection:
        found = connection.execute(statement, values).fetchall()
    connection.close()
    return found


Edit = Callable[[ChainContent], ChainContent]


def rechain(data: Path, owner: ChainOwner, edit: Edit = lambda content: content) -> None:
    """Make a chain anew that agrees with the rows as they are now. edit: alters what it says."""
    with open_league(league_path(data)) as league:
        _rechain(league, owner, edit)


def _rechain(league: League, owner: ChainOwner, edit: Edit) -> None:
    state = ChainState()
    with league.write() as connection:
        records = read_records(connection, owner, 0, limit=1_000_000)
        for record in records:
            state.take(record)
        head, position, digests = BEFORE_FIRST, 0, dict[int, bytes]()
        mine = (chain.c.population_id == owner.population_id, chain.c.match_id == owner.match_id)
        connection.execute(delete_from(chain).where(*mine))
        for record in records:
            content = _content(connection, owner, record, state, digests)
            if content is None:
                continue
            content, position = edit(content), position + 1
            head = next_head(head, position, content, record.created_at)
            values = {
                "population_id": owner.population_id,
                "match_id": owner.match_id,
                "position": position,
                "kind": content.kind,
                "first": content.first,
                "last": content.last,
                "count": content.count,
                "digest": content.digest,
                "head": head,
                "note": content.note,
                "created_at": record.created_at,
            }
            connection.execute(chain.insert().values(**values))


def _content(
    connection: Connection,
    owner: ChainOwner,
    record: ChainRecord,
    state: ChainState,
    digests: dict[int, bytes],
) -> ChainContent | None:
    """What a record has to say of the rows as they are; None where no row of it is left."""
    content = record.content
    if content.kind in GAME_KINDS:
        return _games(connection, content, state, digests)
    if content.kind in ROW_KINDS:
        return _rows(connection, owner, content, state)
    if content.kind == FOLD:
        ends = content.first, content.last
        folded = [digest for key, digest in sorted(digests.items()) if ends[0] <= key <= ends[1]]
        note = content.said
        periods = {
            period: period_digest(connection, owner.population_id, int(period)).hex()
            for period in note["periods"]
        }
        return ChainContent(
            content.kind,
            content.first,
            content.last,
            content.count,
            fold_digest(folded),
            to_json({**note, "periods": periods}),
        )
    return content


def _games(
    connection: Connection, content: ChainContent, state: ChainState, digests: dict[int, bytes]
) -> ChainContent | None:
    if content.kind == TRAINING_GAMES:
        again = content
        if not state.is_folded(content.first, content.last):
            found = _block(connection, content)
            if found is None:
                return None
            again = found
        digests[again.first] = again.digest
        return again
    rows = read_game_rows(connection, content.kind, content.first, content.last)
    runs = content.said.get("numbers")
    if runs is not None:
        # Games of a match end out of order, so ranges of its batches may overlap.
        ranges = parse_runs(runs)
        mine = {number for low, high in ranges for number in range(low, high + 1)}
        games, seats = ([row for row in part if row[0] & MAX_NUMBER in mine] for part in rows)
        rows = games, seats
    if not rows[0]:
        return None
    return games_content(content.kind, *rows, PlayerNames().read(connection, rows[1]))


def _block(connection: Connection, content: ChainContent) -> ChainContent | None:
    """What a record has to say of the block in its range as it is; None where there is none."""
    stored = next(blocks_between(connection, content.first, content.last), None)
    if stored is None:
        return None
    block = stored.unpacked()
    names = PlayerNames().read_ids(connection, block.players)
    digest = digest_block(stored.start, block, names)
    return ChainContent(content.kind, stored.id, stored.last, stored.count, digest)


def _rows(
    connection: Connection, owner: ChainOwner, content: ChainContent, state: ChainState
) -> ChainContent | None:
    kind = ROW_KINDS[content.kind]
    table = kind.table
    where = [table.c.id.between(content.first, content.last)]
    if "incarnation_id" in table.c:
        starts = select(incarnations.c.id).where(
            incarnations.c.population_id == owner.population_id
        )
        where.append(table.c.incarnation_id.in_(starts))
    rows = []
    for row in stored_rows(connection, table, *where):
        changes = state.changes(table.name, int(row["id"]))
        rows.append({**row, **(changes.before if changes else {})})
    return kind.content(rows) if rows else None
