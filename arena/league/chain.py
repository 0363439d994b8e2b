"""The chain of a population or a match: one record for each batch of rows that was committed.

A record names the rows of its batch and holds a digest of them, and each record is hashed together
with the one before:

    head_n = SHA-256(head_(n-1) | position | kind | first | last | count | time | digest | note)

with 32 zero bytes before the first. So the newest head stands for every row that was ever
committed: rows that are altered, removed, added or reordered later no longer agree with it. A
record is written in the transaction of its rows. A kill therefore leaves both or neither.

There are two sorts of records.

**Records of rows** hold rows of one kind: games of a training, evaluation games, games of a match
(each with its seats), rounds, snapshots, events, wiring certificates, members, starts, the row of
the population or of the match. `arena.league.chain_rows` has the table of kinds; another table is
one more line there. `first` and `last` are the lowest and the highest key, `count` is the number of
rows, and `digest` covers all columns that never change. Keys of a match's batch have gaps, because
its games end out of order; then the note lists the runs of keys.

**Records of changes** hold no rows. Their note is JSON and says what was done to rows that were
committed before:

    marks    [table, column, value, runs of keys]: a flag was set (superseded by a resume, weights
             removed by retention, anchor)
    changes  [table, key, {column: value before}, {column: value after}]: a row was changed (a match
             that finished or failed, a snapshot that was made again)

A fold keeps the range, the number and the digest of the games that it replaces by counts: the
digest is taken over the digests of their batches, recomputed from the rows before they go. It also
holds digests of the counts. A deletion replaces the chain by its last record, which names the
head before it. Exports and members that left are recorded as well, and so is the beginning of a
match among a population's players, and at its end the head of its chain. Snapshots that were
imported belong to no population; they have a chain of their own.

A flag of a row is therefore a function of the chain: 0, then the marks in order. Everything else in
a row equals what its batch recorded, with the changes in order. `arena.league.chain_check` goes
over both in one pass, page by page.

A population that is older than the chain begins it with the upgrade of the league: the first record
counts the rows that were there. Whether those were altered before is unknown.
"""

import hashlib
import json
import struct
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select

from arena.league.chain_columns import NO_ROWS
from arena.league.database import League
from arena.league.rows import to_json
from arena.league.schema import chain

BEFORE_FIRST = bytes(32)
PAGE_RECORDS = 5_000
DELETED = "deleted"
# A shorter beginning of a head could name two heads.
SHORTEST_HEAD = 16


class ChainOwner(NamedTuple):
    """What a chain belongs to. Both are 0 for the chain of imported snapshots.

    population_id  id of the population, 0 for a match
    match_id       number of the match, 0 for a population
    """

    population_id: int
    match_id: int


IMPORTS = ChainOwner(0, 0)


def chain_of_population(population_id: int) -> ChainOwner:
    return ChainOwner(population_id, 0)


def chain_of_match(match_id: int) -> ChainOwner:
    return ChainOwner(0, match_id)


@dataclass(frozen=True, slots=True)
class ChainContent:
    """What one record says.

    kind    the kind of its rows, or what was done
    first   lowest key of its rows, 0 without rows
    last    highest key of its rows, 0 without rows
    count   number of its rows
    digest  SHA-256 of its rows, 32 bytes
    note    JSON with what else it says, None for nothing
    """

    kind: str
    first: int
    last: int
    count: int
    digest: bytes
    note: str | None = None

    @property
    def said(self) -> dict[str, Any]:
        """The note. Raises: ValueError for a note that is not JSON of an object."""
        said = json.loads(self.note or "{}")
        if not isinstance(said, dict):
            raise ValueError(f"note {self.note!r}: expected an object")
        return said


@dataclass(frozen=True, slots=True)
class ChainRecord:
    """A stored record.

    position    1, 2, ... in its chain
    content     what it says
    created_at  seconds since the epoch
    head        the head of the chain that ends with it, 32 bytes
    """

    position: int
    content: ChainContent
    created_at: float
    head: bytes

    def link(self, before: bytes) -> bytes:
        """The head that follows from its content. before: the head before it."""
        return next_head(before, self.position, self.content, self.created_at)


def next_head(before: bytes, position: int, content: ChainContent, created_at: float) -> bytes:
    """The head of a chain after a record. before: the head before it, 32 bytes."""
    kind, note = content.kind.encode(), (content.note or "").encode()
    numbers = struct.pack(
        "<QqqQdHQ",
        position,
        content.first,
        content.last,
        content.count,
        created_at,
        len(kind),
        len(note),
    )
    return hashlib.sha256(b"".join((before, numbers, kind, content.digest, note))).digest()


def said(kind: str, count: int = 0, **note: Any) -> ChainContent:
    """The content of a record without rows. count: of the things that it is about."""
    return ChainContent(kind, 0, 0, count, NO_ROWS, to_json(note))


def append(
    connection: Connection,
    owner: ChainOwner,
    contents: Iterable[ChainContent],
    now: float | None = None,
) -> None:
    """Appends records to a chain, in the caller's transaction, which holds the write lock.

    now: the time of the records, in seconds since the epoch; None: this moment.
    """
    now, rows = time.time() if now is None else now, []
    position, head = chain_end(connection, owner)
    for content in contents:
        position += 1
        head = next_head(head, position, content, now)
        named = (content.kind, content.first, content.last, content.count)
        rows.append((*owner, position, *named, content.digest, head, content.note, now))
    if rows:
        connection.exec_driver_sql(_INSERT, rows)


_INSERT = """
INSERT INTO chain (population_id, match_id, position, kind, first, last, count, digest, head, note,
    created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_END = """
SELECT position, head FROM chain WHERE population_id = ? AND match_id = ?
ORDER BY position DESC LIMIT 1
"""


def chain_end(connection: Connection, owner: ChainOwner) -> tuple[int, bytes]:
    """(position, head) of the newest record; (0, 32 zero bytes) without one."""
    row = connection.exec_driver_sql(_END, tuple(owner)).first()
    return (0, BEFORE_FIRST) if row is None else (int(row[0]), bytes(row[1]))


def has_head(league: League, owner: ChainOwner, head: str) -> bool:
    """Whether some record of a chain has this head, in hexadecimal."""
    query = select(chain.c.position).where(*_mine(owner), chain.c.head == bytes.fromhex(head))
    with league.read() as connection:
        return connection.execute(query.limit(1)).first() is not None


def end_chain(connection: Connection, owner: ChainOwner, name: str) -> None:
    """Replaces a chain by one record, which keeps the head, in the caller's transaction.

    name: of the population that was deleted.
    """
    records, head = chain_end(connection, owner)
    append(connection, owner, [said(DELETED, records, name=name, head=head.hex())])
    connection.execute(delete(chain).where(*_mine(owner), chain.c.position <= records))


def deleted_population(league: League, name: str) -> ChainRecord | None:
    """The newest record of the deletion of a population of this name, None without one."""
    query = select(chain).where(chain.c.kind == DELETED).order_by(chain.c.population_id.desc())
    with league.read() as connection:
        records = [to_record(row) for row in connection.execute(query)]
    return next((record for record in records if record.content.said["name"] == name), None)


def chain_head(league: League, owner: ChainOwner) -> tuple[int, str]:
    """(number of records, head in hexadecimal) of a chain; (0, zeros) for one without records."""
    with league.read() as connection:
        position, head = chain_end(connection, owner)
    return position, head.hex()


def read_records(
    connection: Connection,
    owner: ChainOwner,
    after: int,
    kinds: Sequence[str] | None = None,
    limit: int = PAGE_RECORDS,
) -> list[ChainRecord]:
    """A page of a chain: the next records behind a position, in order.

    kinds  only records of these kinds; None: all
    """
    query = select(chain).where(*_mine(owner), chain.c.position > after)
    if kinds is not None:
        query = query.where(chain.c.kind.in_(kinds))
    rows = connection.execute(query.order_by(chain.c.position).limit(limit))
    return [to_record(row) for row in rows]


def records_in_range(
    connection: Connection, owner: ChainOwner, kind: str, first: int, last: int
) -> list[ChainRecord]:
    """The records of one kind whose lowest key lies between two keys, by that key."""
    of_kind = (*_mine(owner), chain.c.kind == kind, chain.c.first.between(first, last))
    rows = connection.execute(select(chain).where(*of_kind).order_by(chain.c.first))
    return [to_record(row) for row in rows]


def record_around(
    connection: Connection, owner: ChainOwner, kind: str, key: int
) -> ChainRecord | None:
    """The record of one kind with the greatest lowest key up to `key`, None without one."""
    of_kind = (*_mine(owner), chain.c.kind == kind, chain.c.first <= key)
    query = select(chain).where(*of_kind).order_by(chain.c.first.desc()).limit(1)
    row = connection.execute(query).first()
    return None if row is None else to_record(row)


def newest_record(connection: Connection, owner: ChainOwner, kind: str) -> ChainRecord | None:
    """The newest record of a kind, None without one."""
    query = select(chain).where(*_mine(owner), chain.c.kind == kind)
    row = connection.execute(query.order_by(chain.c.position.desc()).limit(1)).first()
    return None if row is None else to_record(row)


def _mine(owner: ChainOwner) -> tuple[Any, Any]:
    return chain.c.population_id == owner.population_id, chain.c.match_id == owner.match_id


def to_record(row: Any) -> ChainRecord:
    """The record of a whole row of the table."""
    content = ChainContent(row.kind, row.first, row.last, row.count, bytes(row.digest), row.note)
    return ChainRecord(row.position, content, row.created_at, bytes(row.head))
