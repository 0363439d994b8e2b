"""Verification of the games that a chain names, with their seats, page by page."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from sqlalchemy import Connection, text

from arena.league.block_rows import StoredBlock, blocks_between
from arena.league.chain import ChainOwner, ChainRecord, read_records
from arena.league.chain_blocks import batch_words, block_differences, named
from arena.league.chain_rows import (
    MATCH_GAMES,
    TRAINING_GAMES,
    PlayerNames,
    checksums,
    digest_found,
    of_kind,
    parse_runs,
    read_game_rows,
)
from arena.league.chain_state import ChainState, Difference
from arena.league.database import League, count_rows
from arena.league.populations import starts_of
from arena.league.rows import Row
from arena.league.schema import (
    MAX_NUMBER,
    NUMBER_BITS,
    games,
    keys_of_match,
    keys_of_start,
)
from pbt.records import is_voided

PAGE_RECORDS, PAGE_GAMES = 200, 2_000
CHECK_DIGITS = 8
# At most so many rows of no record are named for one range of keys.
NAMED = 3
_COLUMNS = {name: place for place, name in enumerate(games.c.keys())}
_LONE_SEATS = text("""
SELECT s.game_id FROM game_seats s LEFT JOIN games g ON g.id = s.game_id
WHERE s.game_id BETWEEN :first AND :last AND g.id IS NULL LIMIT 3
""")

Games = tuple[list[Row], list[Row]]
"""(rows of games, rows of their seats)."""


class GameCheck:
    """Compares the games of one kind with the records that have them.

    catch_up  takes into `state` the records that a view of the league has
    """

    def __init__(
        self,
        league: League,
        owner: ChainOwner,
        kind: str,
        state: ChainState,
        catch_up: Callable[[Connection], None],
    ) -> None:
        self._league, self._owner, self._kind = league, owner, kind
        self._state, self._catch_up = state, catch_up
        self._names = PlayerNames()
        # Where rows of each start, or of the match, have been compared up to.
        self._through: dict[int, int] = {}
        self._numbers: set[int] = set()

    def run(self, observe: Callable[[int], object]) -> Iterator[Difference]:
        """observe: called with the number of games read so far."""
        position, done = 0, 0
        while True:
            with self._league.read() as connection:
                self._catch_up(connection)
                page = self._next_page(connection, position)
                if not page:
                    found = list(self._rest(connection))
                    break
                found = list(self._check_page(connection, page))
            yield from found
            position, done = page[-1].position, done + sum(one.content.count for one in page)
            observe(done)
        yield from found

    def _next_page(self, connection: Connection, position: int) -> list[ChainRecord]:
        """The next records of the kind; those of a page are of one start."""
        page: list[ChainRecord] = []
        count = 0
        for record in read_records(connection, self._owner, position, [self._kind], PAGE_RECORDS):
            count += record.content.count
            if page and (count > PAGE_GAMES or _source(record) != _source(page[0])):
                break
            page.append(record)
        return page

    def _check_page(
        self, connection: Connection, page: Sequence[ChainRecord]
    ) -> Iterator[Difference]:
        if self._kind == MATCH_GAMES:
            for record in page:
                yield from self._check_batch_of_match(connection, record)
            return
        source = _source(page[0])
        last = max(record.content.last for record in page)
        first = source << NUMBER_BITS
        done = max(self._through.get(source, first - 1), self._unknown_through)
        self._through[source] = last
        kept = [record for record in page if not self._is_folded(record)]
        by_record, rest = _by_record(kept, self._read(connection, done + 1, last))
        blocks = self._blocks(connection, done + 1, last)
        for record in kept:
            stored, rows = blocks.pop(record.content.first, None), by_record[record.position]
            if stored is None:
                yield from self._compare(record, rows)
                continue
            rest += [row[0] for row in rows[0]]
            yield from block_differences(connection, stored, record, self._names, self._state)
        yield from self._of_no_record([*rest, *blocks])

    def _is_folded(self, record: ChainRecord) -> bool:
        content = record.content
        return self._kind == TRAINING_GAMES and self._state.is_folded(content.first, content.last)

    def _blocks(self, connection: Connection, first: int, last: int) -> dict[int, StoredBlock]:
        """Key of its first game -> block, of those that reach into a range of keys."""
        if self._kind != TRAINING_GAMES:
            return {}
        return {stored.id: stored for stored in blocks_between(connection, first, last)}

    def _check_batch_of_match(
        self, connection: Connection, record: ChainRecord
    ) -> Iterator[Difference]:
        """Games of a match end out of order, so a batch lists its numbers."""
        content = record.content
        first, last = content.first & MAX_NUMBER, content.last & MAX_NUMBER
        runs = content.said.get("numbers")
        ranges = [(first, last)] if runs is None else parse_runs(runs)
        numbers = {number for low, high in ranges for number in range(low, high + 1)}
        self._numbers |= numbers
        found = self._read(connection, content.first, content.last)
        mine = {row[0] for row in found[0] if row[0] & MAX_NUMBER in numbers}
        game_rows, seat_rows = ([row for row in rows if row[0] in mine] for rows in found)
        yield from self._compare(record, (game_rows, seat_rows))

    def _read(self, connection: Connection, first: int, last: int) -> Games:
        found = read_game_rows(connection, self._kind, first, last)
        self._names.read(connection, found[1])
        return found

    @property
    def _unknown_through(self) -> int:
        """The greatest key of the games from before the chain began."""
        return int(self._state.through.get(self._kind, 0))

    # --- one batch --------------------------------------------------------------------------------

    def _compare(self, record: ChainRecord, found: Games) -> Iterator[Difference]:
        content, (game_rows, _) = record.content, found
        where = f"{self._name(content.first)}{batch_words(record)}"
        if len(game_rows) != content.count:
            yield Difference(where, f"{len(game_rows)} games", f"{content.count}")
        elif digest_found(*found, self._names) != content.digest:
            altered = list(self._altered(record, found))
            yield from altered or [
                Difference(where, "rows of another digest", content.digest.hex()[:16])
            ]
        for row in game_rows:
            yield from self._wrong_values(record, row)

    def _altered(self, record: ChainRecord, found: Games) -> Iterator[Difference]:
        """The games of a batch that differ from their checksums; none where it has none."""
        checks = str(record.content.said.get("checks", ""))
        size = CHECK_DIGITS
        expected = [checks[at : at + size] for at in range(0, len(checks), size)]
        now = checksums(*found, self._names)
        for row, check, committed in zip(found[0], now, expected, strict=False):
            if check != committed:
                yield Difference(
                    self._name(row[0]),
                    f"a row or seats with checksum {check}",
                    f"{committed}, as it was committed",
                )

    def _wrong_values(self, record: ChainRecord, row: Row) -> Iterator[Difference]:
        """Compares what follows from other values, and what records of changes say."""
        key, number = row[0], row[_COLUMNS["number"]]
        pairs = (
            ("number", number, key & MAX_NUMBER),
            ("voided", row[_COLUMNS["voided"]], int(is_voided(str(row[_COLUMNS["end_reason"]])))),
            ("superseded", row[_COLUMNS["superseded"]], int(self._state.is_superseded(key))),
            ("committed_at", row[_COLUMNS["committed_at"]], int(record.created_at)),
        )
        for name, found, expected in pairs:
            if found != expected:
                yield Difference(f"{self._name(key)}, {name}", repr(found), repr(expected))

    def _name(self, key: int) -> str:
        """A game as `arena replay` names it, or with its start."""
        if self._owner.match_id:
            return f"game match:{self._owner.match_id}:{key & MAX_NUMBER}"
        return named(key)

    # --- rows of no record ------------------------------------------------------------------------

    def _of_no_record(self, keys: Iterable[int]) -> Iterator[Difference]:
        for key in list(keys)[:NAMED]:
            yield Difference(f"{self._name(key)}, {self._kind}", "a game of no record", "no game")

    def _rest(self, connection: Connection) -> Iterator[Difference]:
        """Games behind the last batches, in folded ranges, and seats without a game."""
        if self._kind == MATCH_GAMES:
            yield from self._rest_of_match(connection)
            return
        starts = starts_of(connection, self._owner.population_id)
        for first, last in (keys_of_start(start.id) for start in starts):
            source = _start(first)
            behind = max(self._through.get(source, 0), self._unknown_through, first - 1)
            ranges = [(behind + 1, last)]
            if self._kind == TRAINING_GAMES:
                # Of those from before the chain began; pages have read all later keys.
                folded = (one for one in self._state.ranges if one[0] <= self._unknown_through)
                ranges += [(max(first, one[0]), min(last, one[1])) for one in folded]
                # No block is older than the chain.
                older = self._blocks(connection, first, min(last, self._unknown_through))
                behind_all = self._blocks(connection, behind + 1, last)
                yield from self._of_no_record([*older, *behind_all])
                lone = connection.execute(_LONE_SEATS, {"first": first, "last": last}).scalars()
                for key in lone:
                    yield Difference(self._name(key), "seats without a game", "both")
            for low, high in ranges:
                if low <= high:
                    rows = read_game_rows(connection, self._kind, low, high)[0]
                    yield from self._of_no_record(row[0] for row in rows)
        yield from self._count_unknown(connection, [start.id for start in starts])

    def _count_unknown(
        self, connection: Connection, start_ids: Sequence[int]
    ) -> Iterator[Difference]:
        """Counts the games from before the chain began, of which only the number is known."""
        if self._kind not in self._state.unknown:
            return
        ranges = [keys_of_start(start_id) for start_id in start_ids]
        found = self._count(connection, ranges, self._unknown_through)
        gone = self._state.unfolded if self._kind == TRAINING_GAMES else 0
        yield from _counted(self._kind, found, self._state.unknown[self._kind] - gone)

    def _rest_of_match(self, connection: Connection) -> Iterator[Difference]:
        first, last = keys_of_match(self._owner.match_id)
        through = max(self._unknown_through, first - 1)
        keys = connection.exec_driver_sql(
            "SELECT id FROM games WHERE id BETWEEN ? AND ? ORDER BY id", (through + 1, last)
        ).scalars()
        yield from self._of_no_record(key for key in keys if key & MAX_NUMBER not in self._numbers)
        for key in connection.execute(_LONE_SEATS, {"first": first, "last": last}).scalars():
            yield Difference(self._name(key), "seats without a game", "both")
        if self._kind in self._state.unknown:
            found = self._count(connection, [(first, last)], self._unknown_through)
            yield from _counted(self._kind, found, self._state.unknown[self._kind])

    def _count(
        self, connection: Connection, ranges: Sequence[tuple[int, int]], through: int
    ) -> int:
        """How many games of the kind have keys in these ranges, up to `through`."""
        return sum(
            count_rows(
                connection,
                games,
                games.c.id.between(first, min(last, through)),
                of_kind(self._kind),
            )
            for first, last in ranges
        )


def _counted(kind: str, found: int, expected: int) -> Iterator[Difference]:
    if found != expected:
        where = f"{kind} from before the chain began"
        yield Difference(where, f"{found} games", f"{expected}")


def _start(key: int) -> int:
    return key >> NUMBER_BITS


def _source(record: ChainRecord) -> int:
    return _start(record.content.first)


def _by_record(records: Sequence[ChainRecord], found: Games) -> tuple[dict[int, Games], list[int]]:
    """(position of a record -> its games, keys of games of no record)."""
    if not records:
        return {}, [row[0] for row in found[0]]
    ordered = sorted(records, key=lambda record: record.content.first)
    firsts = [record.content.first for record in ordered]
    own: dict[int, Games] = {record.position: ([], []) for record in records}
    rest: list[int] = []
    for part, rows in enumerate(found):
        for row in rows:
            record = ordered[max(bisect_right(firsts, row[0]) - 1, 0)]
            if record.content.first <= row[0] <= record.content.last:
                own[record.position][part].append(row)
            elif part == 0:
                rest.append(row[0])
    return own, rest
