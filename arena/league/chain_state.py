"""What the records of a chain say about rows, as a pure function of the records.

`arena.league.chain_check` feeds it the records in order and compares the rows with it.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from arena.league.chain import BEFORE_FIRST, ChainRecord
from arena.league.chain_matches import MATCH_BEGUN, MATCH_ENDED
from arena.league.chain_rows import GAME_KINDS, ROW_KINDS, parse_runs
from arena.league.compaction import FOLD

BEGIN = "begin"
# A forged mark must not fill the memory.
MOST_MARKED = 10_000_000


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between what is stored and what it should be.

    where     the row, record or file
    found     what is there, or the contradiction in words
    expected  what should be there, empty behind a contradiction in words
    """

    where: str
    found: str
    expected: str = ""

    @property
    def text(self) -> str:
        if not self.expected:
            return f"{self.where}: {self.found}"
        return f"{self.where}: found {self.found}; expected {self.expected}"


@dataclass(frozen=True, slots=True)
class RowChanges:
    """What records of changes did to one row.

    before  column -> value when the row was inserted
    after   column -> value now
    """

    before: dict[str, Any]
    after: dict[str, Any]


class ChainState:
    """The state of a chain after some of its records.

    position   of the newest record, 0 before any
    head       of the newest record
    counts     kind of rows -> how many records of rows have
    unknown    kind of rows -> how many were there before the chain began
    through    kind of rows -> greatest key of those
    begun_at   when the chain of an older population began, None for a chain that has all rows
    folded     greatest key of a game that was folded, 0 before any
    ranges     (first, last) key of every fold, in the order of the keys
    folds      (games, games that did not count) of all folds
    unfolded   how many of those games no record had
    periods    period -> digest of its counts
    seen       beginning of a head -> position of the record that has it, of those looked for
    matches    number of a match that was recorded -> its head at its end, None before that
    recorded   lowest number of a match whose beginning was recorded, None before any
    """

    def __init__(self, wanted: Collection[str] = ()) -> None:
        """wanted: beginnings of heads in hexadecimal that are looked for."""
        self.position, self.head = 0, BEFORE_FIRST
        self.counts: dict[str, int] = defaultdict(int)
        self.unknown: Mapping[str, int] = {}
        self.through: Mapping[str, int] = {}
        self.begun_at: float | None = None
        self.folded, self.folds, self.unfolded = 0, (0, 0), 0
        self.ranges: list[tuple[int, int]] = []
        self.periods: dict[int, str] = {}
        self.seen: dict[str, int] = {}
        self.matches: dict[int, str | None] = {}
        self.recorded: int | None = None
        self._wanted = tuple(wanted)
        self._flags: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        self._superseded: list[tuple[int, int]] = []
        self._changes: dict[tuple[str, int], RowChanges] = {}

    def take(self, record: ChainRecord) -> list[Difference]:
        """Takes the next record. Returns what is wrong with it."""
        wrong = []
        where = f"record {record.position} of the chain ({record_words(record)})"
        if record.position != self.position + 1:
            missing = f"record {self.position + 1}"
            wrong.append(Difference(where, f"nothing of {missing}", f"{missing} before it"))
        follows = record.link(self.head)
        if follows != record.head:
            wrong.append(Difference(where, f"head {record.head.hex()}", f"{follows.hex()}"))
        self.position, self.head = record.position, record.head
        for head in self._wanted:
            if record.head.hex().startswith(head):
                self.seen.setdefault(head, record.position)
        try:
            self._apply(record)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            wrong.append(Difference(where, f"a note that cannot be read ({error})", "JSON"))
        return wrong

    def _apply(self, record: ChainRecord) -> None:
        content, note = record.content, record.content.said
        if content.kind in ROW_KINDS or content.kind in GAME_KINDS:
            self.counts[content.kind] += content.count
        elif content.kind == BEGIN:
            self.begun_at = record.created_at
            self.unknown, self.through = note["rows"], note["through"]
            self.folded, *folds = note.get("folds", (0, 0, 0))
            self.folds = (int(folds[0]), int(folds[1]))
            self.ranges = [(0, self.folded)]
        elif content.kind == FOLD:
            self.folded = max(self.folded, content.last)
            insort(self.ranges, (content.first, content.last))
            games = self.folds[0] + content.count
            self.folds = games, self.folds[1] + int(note["unscored"])
            self.unfolded += int(note["unrecorded"])
            self.periods |= {int(period): digest for period, digest in note["periods"].items()}
        elif content.kind == MATCH_BEGUN:
            number = int(note["match"])
            self.matches.setdefault(number, None)
            self.recorded = number if self.recorded is None else min(self.recorded, number)
        elif content.kind == MATCH_ENDED:
            self.matches[int(note["match"])] = str(note["head"])
        for table, column, value, runs in note.get("marks", ()):
            self._mark(table, column, int(value), parse_runs(runs))
        for table, key, before, after in note.get("changes", ()):
            known = self._changes.setdefault((table, int(key)), RowChanges({}, {}))
            known.before.update({**before, **known.before})
            known.after.update(after)

    def _mark(self, table: str, column: str, value: int, runs: list[tuple[int, int]]) -> None:
        """Sets a flag. Of games only ranges are kept, since they are superseded for good."""
        if table == "games":
            self._superseded = sorted([*self._superseded, *runs])
            return
        if sum(last - first for first, last in runs) > MOST_MARKED:
            raise ValueError(f"marks of more than {MOST_MARKED} rows of {table}")
        flags = self._flags[table, column]
        for first, last in runs:
            flags.update(dict.fromkeys(range(first, last + 1), value))

    def flag(self, table: str, column: str, key: int) -> int:
        """The value that a flag of a row should have, for a row that a record has."""
        return self._flags[table, column].get(key, 0)

    def is_superseded(self, key: int) -> bool:
        """Whether a game should be superseded."""
        place = bisect_right(self._superseded, (key, key)) - 1
        near = self._superseded[max(place, 0) : place + 2]
        return any(first <= key <= last for first, last in near)

    def superseded_in(self, first: int, last: int) -> list[tuple[int, int]]:
        """The ranges of superseded games that reach into a range of keys."""
        return [one for one in self._superseded if one[0] <= last and one[1] >= first]

    def is_folded(self, first: int, last: int) -> bool:
        """Whether the games with these first and last keys were folded."""
        place = bisect_right(self.ranges, first, key=itemgetter(0)) - 1
        return place >= 0 and last <= self.ranges[place][1]

    def changes(self, table: str, key: int) -> RowChanges | None:
        """What records did to a row after its batch, None where they did nothing."""
        return self._changes.get((table, key))


def record_words(record: ChainRecord) -> str:
    """What a record is about, for people."""
    content = record.content
    return f"{content.kind}, {content.count}" if content.count else content.kind
