"""Verification of a chain: its records in one pass, then the rows that they name, page by page.

A row that was altered, removed or added since its batch was committed makes a difference. The check
may run beside a training: every page is compared with the chain as it stands in the same view.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from arena.league.chain import (
    PAGE_RECORDS,
    ChainOwner,
    ChainRecord,
    read_records,
    records_in_range,
)
from arena.league.chain_games import GameCheck
from arena.league.chain_rows import (
    EVALUATION_GAMES,
    MATCH_GAMES,
    ROW_KINDS,
    TRAINING_GAMES,
    RowKind,
    stored_rows,
)
from arena.league.chain_state import ChainState, Difference, RowChanges
from arena.league.compaction import FOLD, fold_digest, period_digest
from arena.league.database import League, count_rows
from arena.league.schema import folded_results, folds, incarnations

GROUP_ROWS = 2_000
_UNUSABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The result of the verification of a chain.

    records      how many records it has
    head         its head, in hexadecimal
    begun_at     when the chain of an older population began, None for one that has all rows
    unknown      kind -> rows from before that, whose history is unknown
    rows         kind -> rows that records have
    folded       games that were folded into counts
    seen         beginning of a head -> position of the record that has it, of those looked for
    differences  what is wrong
    matches      number of a match that was recorded -> its head at its end, None before that
    recorded     lowest number of a match whose beginning was recorded, None before any
    """

    records: int
    head: str
    begun_at: float | None
    unknown: Mapping[str, int]
    rows: Mapping[str, int]
    folded: int
    seen: Mapping[str, int]
    differences: tuple[Difference, ...]
    matches: Mapping[int, str | None]
    recorded: int | None


def check_chain(
    league: League,
    owner: ChainOwner,
    wanted: Collection[str] = (),
    observe: Callable[[str, int], object] = lambda what, done: None,
) -> ChainReport:
    """Verifies a chain and the rows that it names.

    wanted   beginnings of heads that are looked for in the chain's history
    observe  called with (kind of rows, how many were read so far)
    """
    return _ChainCheck(league, owner, wanted, observe).run()


class _ChainCheck:
    def __init__(
        self,
        league: League,
        owner: ChainOwner,
        wanted: Collection[str],
        observe: Callable[[str, int], object],
    ) -> None:
        self._league, self._owner, self._observe = league, owner, observe
        self._state = ChainState(wanted)
        self._differences: list[Difference] = []

    def run(self) -> ChainReport:
        while self._read_page():
            pass
        if self._state.position == 0:
            self._differences.append(Difference("the chain", "no record", "its records"))
        for kind in ROW_KINDS.values():
            if _belongs(kind, self._owner):
                self._check_rows(kind)
        kinds = [MATCH_GAMES] if self._owner.match_id else [TRAINING_GAMES, EVALUATION_GAMES]
        for name in kinds:
            check = GameCheck(self._league, self._owner, name, self._state, self._catch_up)
            self._differences += check.run(partial(self._observe, name))
        if self._owner.population_id:
            self._check_counts()
        state = self._state
        return ChainReport(
            state.position,
            state.head.hex(),
            state.begun_at,
            dict(state.unknown),
            dict(state.counts),
            state.folds[0],
            dict(state.seen),
            tuple(self._differences),
            dict(state.matches),
            state.recorded,
        )

    # --- records ----------------------------------------------------------------------------------

    def _read_page(self) -> bool:
        """Takes the next records; True where there may be more."""
        with self._league.read() as connection:
            page = read_records(connection, self._owner, self._state.position)
            self._take(connection, page)
        return len(page) == PAGE_RECORDS

    def _catch_up(self, connection: Connection) -> None:
        """Takes all records that a view of the league has and that were not there before."""
        while True:
            page = read_records(connection, self._owner, self._state.position)
            self._take(connection, page)
            if len(page) < PAGE_RECORDS:
                return

    def _take(self, connection: Connection, page: Sequence[ChainRecord]) -> None:
        for record in page:
            self._differences += self._state.take(record)
            if record.content.kind == FOLD:
                self._differences += self._check_fold(connection, record)

    def _check_fold(self, connection: Connection, fold: ChainRecord) -> Iterator[Difference]:
        """Compares a fold with the batches that it folded."""
        ends = fold.content.first, fold.content.last
        batches = records_in_range(connection, self._owner, TRAINING_GAMES, *ends)
        if fold_digest([batch.content.digest for batch in batches]) != fold.content.digest:
            yield Difference(
                f"record {fold.position} of the chain (fold of {fold.content.count} games)",
                "games that differed from what was committed",
                "the games of its batches",
            )

    # --- rows of one table ------------------------------------------------------------------------

    def _check_rows(self, kind: RowKind) -> None:
        position, key, done = 0, int(self._state.through.get(kind.name, 0)), 0
        while True:
            with self._league.read() as connection:
                self._catch_up(connection)
                group = next_group(connection, self._owner, kind.name, position, GROUP_ROWS)
                last = group[-1].content.last if group else None
                rows = self._rows(connection, kind, key + 1, last)
            self._differences += _compare(kind, group, rows, self._state)
            if last is None:
                break
            position, key, done = group[-1].position, last, done + len(rows)
            self._observe(kind.name, done)

        if kind.name in self._state.unknown:
            self._count_unknown(kind)

    def _rows(
        self, connection: Connection, kind: RowKind, first: int, last: int | None
    ) -> list[Mapping[str, Any]]:
        """The owner's rows with keys from first to last; None: to the end."""
        table = kind.table
        keys = table.c.id >= first if last is None else table.c.id.between(first, last)
        return stored_rows(connection, table, keys, self._mine(kind))

    def _mine(self, kind: RowKind) -> ColumnElement[bool]:
        """The condition that the owner's rows meet."""
        columns, population_id = kind.table.c, self._owner.population_id
        if "incarnation_id" in columns and kind.name != "snapshots":
            mine = incarnations.c.population_id == population_id
            return columns.incarnation_id.in_(select(incarnations.c.id).where(mine))
        if "population_id" in columns:
            return columns.population_id == population_id
        return columns.id == (self._owner.match_id or population_id)

    def _count_unknown(self, kind: RowKind) -> None:
        """Counts the rows from before the chain began, of which only the number is known."""
        through, expected = self._state.through[kind.name], self._state.unknown[kind.name]
        with self._league.read() as connection:
            mine = (self._mine(kind), kind.table.c.id <= through)
            found = count_rows(connection, kind.table, *mine)
        if found != expected:
            where = f"{kind.name} from before the chain began"
            self._differences.append(Difference(where, f"{found} rows", f"{expected}"))

    # --- folded counts ----------------------------------------------------------------------------

    def _check_counts(self) -> None:
        """Compares the counts of folded games with what the folds recorded."""
        population_id = self._owner.population_id
        with self._league.read() as connection:
            self._catch_up(connection)
            row = connection.execute(
                select(folds).where(folds.c.population_id == population_id)
            ).first()
            mine = folded_results.c.population_id == population_id
            stored = set(
                connection.execute(select(folded_results.c.period).where(mine).distinct()).scalars()
            )
            digests = {
                period: period_digest(connection, population_id, period).hex()
                for period in self._state.periods
            }
        found = (row.through_game_id, row.games, row.unscored_games) if row else (0, 0, 0)
        expected = (self._state.folded, *self._state.folds)
        if found != expected:
            self._differences.append(
                Difference("the totals of folded games", f"{found}", f"{expected}")
            )
        for period, digest in digests.items():
            if digest != self._state.periods[period]:
                self._differences.append(
                    Difference(
                        f"the counts of folded games, period {period}",
                        f"digest {digest[:16]}",
                        f"{self._state.periods[period][:16]}",
                    )
                )
        if self._state.begun_at is None and (more := sorted(stored - digests.keys())):
            self._differences.append(
                Difference("the counts of folded games", f"period {more[0]}", "no such period")
            )


def _belongs(kind: RowKind, owner: ChainOwner) -> bool:
    """Whether a chain has rows of a kind."""
    return (owner.match_id if kind.name == "match" else owner.population_id) != 0


def next_group(
    connection: Connection, owner: ChainOwner, kind: str, position: int, rows: int
) -> list[ChainRecord]:
    """The next records of a kind behind a position, with about so many rows; [] at the end."""
    group: list[ChainRecord] = []
    for record in read_records(connection, owner, position, [kind], 200):
        rows -= record.content.count
        if group and rows < 0:
            break
        group.append(record)
    return group


def _compare(
    kind: RowKind,
    group: Sequence[ChainRecord],
    rows: Sequence[Mapping[str, Any]],
    state: ChainState,
) -> Iterator[Difference]:
    """Compares rows of a kind with the records that have them."""
    left = {int(row["id"]): row for row in rows}
    for record in group:
        content = record.content
        own = [left.pop(key) for key in sorted(left) if content.first <= key <= content.last]
        where = f"{kind.name} {content.first} to {content.last} (record {record.position})"
        if len(own) != content.count:
            yield Difference(where, f"{len(own)} rows", f"{content.count}")
        else:
            yield from _differing(kind, record, own, where, state)
        for row in own:
            yield from _wrong_flags(kind, row, state)
    for key in left:
        yield Difference(f"{kind.name}, row {key}", "a row of no record", "no such row")


def _differing(
    kind: RowKind,
    record: ChainRecord,
    rows: Sequence[Mapping[str, Any]],
    where: str,
    state: ChainState,
) -> Iterator[Difference]:
    """Compares the rows of one record with its digest and with what changed them later."""
    table = kind.table.name
    changed = [(row, state.changes(table, int(row["id"]))) for row in rows]
    before = [{**row, **changes.before} if changes else row for row, changes in changed]
    try:
        digest = kind.digest(before)
    except _UNUSABLE:
        digest = bytes(32)
    if digest != record.content.digest:
        found, expected = digest.hex()[:16], record.content.digest.hex()[:16]
        yield Difference(where, f"rows with digest {found} ({_named(rows)})", expected)
    for row, changes in changed:
        yield from _unlike(kind, row, changes)


def _unlike(
    kind: RowKind, row: Mapping[str, Any], changes: RowChanges | None
) -> Iterator[Difference]:
    for name, value in changes.after.items() if changes else ():
        if row[name] != value:
            where = f"{kind.name}, row {row['id']}, {name}"
            yield Difference(where, repr(row[name]), repr(value))


def _wrong_flags(kind: RowKind, row: Mapping[str, Any], state: ChainState) -> Iterator[Difference]:
    for name in kind.flags:
        expected = state.flag(kind.table.name, name, int(row["id"]))
        if row[name] != expected:
            where = f"{kind.name}, row {row['id']} ({_named([row])}), {name}"
            yield Difference(where, repr(row[name]), repr(expected))


def _named(rows: Sequence[Mapping[str, Any]]) -> str:
    """What some rows are about, for people."""
    row = rows[0]
    words = [
        f"{name} {row[name]!r}"
        for name in ("name", "member", "round", "kind", "frames")
        if row.get(name) is not None
    ]
    return ", ".join(words) + ", ..." * (len(rows) > 1)
