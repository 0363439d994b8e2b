"""The rows that a chain records: their kinds, their columns, and how a batch of them is hashed.

`arena.league.chain` says what a chain is. A new table of a population joins it by one line in
`ROW_KINDS`; its rows must have a column `id` that ascends, and `incarnation_id` or `population_id`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from zlib import crc32

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Integer,
    LargeBinary,
    Table,
    Text,
    bindparam,
    select,
    true,
)

from arena.league.chain import ChainContent, ChainOwner, append
from arena.league.chain_columns import ColumnType, NamedColumn, digest_columns
from arena.league.rows import Row, to_json
from arena.league.schema import (
    IS_EVALUATION,
    IS_TRAINING,
    MAX_NUMBER,
    PLAYER_KINDS,
    events,
    game_seats,
    games,
    incarnations,
    matches,
    members,
    players,
    populations,
    rounds,
    snapshots,
    wiring_certificates,
)

TRAINING_GAMES, EVALUATION_GAMES = "training games", "evaluation games"
MATCH_GAMES = "match games"
# Values that later records change by marks, or that are no results.
FLAGS = ("superseded", "weights_removed", "is_anchor", "state")
# What follows from other values of the row, and when the database took it.
_DERIVED = ("id", "superseded", "voided", "committed_at")
_TYPES: tuple[tuple[type, ColumnType], ...] = (
    (Integer, "i"),
    (Float, "f"),
    (Text, "t"),
    (LargeBinary, "b"),
)


def _type_of(table: Table, name: str) -> ColumnType:
    return next(code for kind, code in _TYPES if isinstance(table.c[name].type, kind))


@dataclass(frozen=True, slots=True)
class RowKind:
    """A kind of rows that have one table, other than games.

    name   as records name it
    table  its rows
    """

    name: str
    table: Table

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a batch's digest covers."""
        return tuple(column.name for column in self.table.c if column.name not in FLAGS)

    @property
    def flags(self) -> tuple[str, ...]:
        """The columns that start at 0 and that marks set."""
        return tuple(name for name in FLAGS[:-1] if name in self.table.c)

    def digest(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """The digest of a batch of rows, by key. Raises: as `digest_columns`."""
        return digest_columns(
            [
                NamedColumn(name, _type_of(self.table, name), [row[name] for row in rows])
                for name in self.columns
            ]
        )

    def content(self, rows: Sequence[Mapping[str, Any]]) -> ChainContent:
        """The record of rows that were inserted in one transaction; at least one."""
        ordered = sorted(rows, key=lambda row: int(row["id"]))
        ends = ordered[0]["id"], ordered[-1]["id"]
        return ChainContent(self.name, *ends, len(ordered), self.digest(ordered))


def stored_rows(
    connection: Connection, table: Table, *where: ColumnElement[bool]
) -> list[Mapping[str, Any]]:
    """The rows of a table that meet all conditions, by key, as column -> value."""
    query = select(table).where(*where).order_by(table.c.id)
    return [dict(row._mapping) for row in connection.execute(query)]


def record_rows(
    connection: Connection, owner: ChainOwner, kind: RowKind, *where: ColumnElement[bool]
) -> None:
    """Records rows that this transaction inserted. where: conditions that only they meet."""
    append(connection, owner, [kind.content(stored_rows(connection, kind.table, *where))])


POPULATION, MATCH = RowKind("population", populations), RowKind("match", matches)
MEMBERS, STARTS = RowKind("members", members), RowKind("starts", incarnations)
ROUNDS, SNAPSHOTS = RowKind("rounds", rounds), RowKind("snapshots", snapshots)
EVENTS = RowKind("events", events)
CERTIFICATES = RowKind("wiring certificates", wiring_certificates)
ROW_KINDS: Mapping[str, RowKind] = {
    kind.name: kind
    for kind in (
        POPULATION,
        MATCH,
        MEMBERS,
        STARTS,
        ROUNDS,
        SNAPSHOTS,
        EVENTS,
        CERTIFICATES,
    )
}
GAME_KINDS = (TRAINING_GAMES, EVALUATION_GAMES, MATCH_GAMES)


# --- games ---------------------------------------------------------------------------------------


def _game_columns() -> list[tuple[int, str, ColumnType]]:
    """(place in a row, name, type) of the columns of a game that a digest covers."""
    return [
        (place, f"game.{name}", _type_of(games, name))
        for place, name in enumerate(games.c.keys())
        if name not in _DERIVED
    ]


def _seat_columns() -> list[tuple[int, str, ColumnType]]:
    """The same of a seat, without its player, who is recorded by name."""
    return [
        (place, f"seat.{name}", _type_of(game_seats, name))
        for place, name in enumerate(game_seats.c.keys())
        if name != "player_id"
    ]


GAME_COLUMNS, SEAT_COLUMNS = _game_columns(), _seat_columns()
_PLAYER = game_seats.c.keys().index("player_id")


def digest_games(
    game_rows: Sequence[Row], seat_rows: Sequence[Row], names: Mapping[int, str]
) -> bytes:
    """The digest of a batch of games.

    game_rows  whole rows of `games`, by key
    seat_rows  whole rows of their seats, by game and seat
    names      id of a player -> its name, as `player_name` makes it
    Raises: KeyError for a player without a name; as `digest_columns`.
    """
    by_game, by_seat = list(zip(*game_rows, strict=True)), list(zip(*seat_rows, strict=True))
    places: dict[int, int] = {}
    seated = by_seat[_PLAYER] if by_seat else ()
    codes = [places.setdefault(player, len(places)) for player in seated]
    return digest_columns(
        [
            *(NamedColumn(name, kind, by_game[place]) for place, name, kind in GAME_COLUMNS),
            *(
                NamedColumn(name, kind, by_seat[place] if by_seat else ())
                for place, name, kind in SEAT_COLUMNS
            ),
            NamedColumn("seat.player", "i", codes),
            NamedColumn("players", "t", [names[player] for player in places]),
        ]
    )


def digest_found(
    game_rows: Sequence[Row], seat_rows: Sequence[Row], names: Mapping[int, str]
) -> bytes:
    """As `digest_games`, of rows that may have been altered: 32 zero bytes for unusable values."""
    try:
        return digest_games(game_rows, seat_rows, names)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return bytes(32)


def player_name(kind: int, name: str) -> str:
    """A player as digests name it: `snapshot 3f...`. kind: its index in `PLAYER_KINDS`."""
    return f"{PLAYER_KINDS[kind]} {name}"


def games_content(
    kind: str, game_rows: Sequence[Row], seat_rows: Sequence[Row], names: Mapping[int, str]
) -> ChainContent:
    """The record of games that were inserted in one transaction, by key; at least one.

    As `digest_games`. kind: one of GAME_KINDS. Games that are few and rated get a checksum each, by
    which an altered one is found in its batch.
    """
    keys = [row[0] for row in game_rows]
    note: dict[str, str] = {}
    if kind == MATCH_GAMES and keys[-1] - keys[0] != len(keys) - 1:
        note["numbers"] = runs_of(key & MAX_NUMBER for key in keys)
    if kind != TRAINING_GAMES:
        note["checks"] = "".join(checksums(game_rows, seat_rows, names))
    digest = digest_games(game_rows, seat_rows, names)
    text = to_json(note) if note else None
    return ChainContent(kind, keys[0], keys[-1], len(keys), digest, text)


def checksums(
    game_rows: Sequence[Row], seat_rows: Sequence[Row], names: Mapping[int, str]
) -> list[str]:
    """The CRC-32 of each game with its seats, 8 hexadecimal digits. Arguments: `digest_games`."""
    seats = seats_by_game(seat_rows)
    return [
        f"{crc32(repr(_facts(row, seats.get(row[0], ()), names)).encode()):08x}"
        for row in game_rows
    ]


def _facts(game: Row, seats: Sequence[Row], names: Mapping[int, str]) -> list[Any]:
    """All that a digest covers of a game."""
    facts = [game[place] for place, _, _ in GAME_COLUMNS]
    for seat in seats:
        facts += [seat[place] for place, _, _ in SEAT_COLUMNS]
        facts.append(names.get(seat[_PLAYER]))
    return facts


_STORED_AS = {TRAINING_GAMES: IS_TRAINING, EVALUATION_GAMES: IS_EVALUATION, MATCH_GAMES: true()}
_FIRST_TO_LAST = games.c.id.between(bindparam("first"), bindparam("last"))


def of_kind(kind: str) -> ColumnElement[bool]:
    """The condition that games of a kind meet. kind: one of GAME_KINDS."""
    return _STORED_AS[kind]


_READ_GAMES = {
    kind: select(games).where(_FIRST_TO_LAST, of_kind(kind)).order_by(games.c.id)
    for kind in GAME_KINDS
}
_READ_SEATS = {
    kind: select(game_seats)
    .join(games, games.c.id == game_seats.c.game_id)
    .where(_FIRST_TO_LAST, of_kind(kind))
    .order_by(game_seats.c.game_id, game_seats.c.seat)
    for kind in GAME_KINDS
}


def read_game_rows(
    connection: Connection, kind: str, first: int, last: int
) -> tuple[list[Row], list[Row]]:
    """(rows of games, rows of their seats) of one kind with keys from first to last, in order."""
    keys = {"first": first, "last": last}
    return (
        [tuple(row) for row in connection.execute(_READ_GAMES[kind], keys)],
        [tuple(row) for row in connection.execute(_READ_SEATS[kind], keys)],
    )


def seats_by_game(seat_rows: Iterable[Row]) -> dict[int, list[Row]]:
    """Key of a game -> rows of its seats. seat_rows: by game."""
    return {key: list(rows) for key, rows in groupby(seat_rows, key=lambda row: int(row[0]))}


class PlayerNames(dict[int, str]):
    """Id of a player -> its name, as `player_name` makes it, read when it is first asked for.

    Raises: KeyError for an id that no player has.
    """

    def read(self, connection: Connection, seat_rows: Sequence[Row]) -> "PlayerNames":
        """Reads the names of the players of these seats. Returns itself."""
        return self.read_ids(connection, {row[_PLAYER] for row in seat_rows})

    def read_ids(self, connection: Connection, ids: Iterable[int]) -> "PlayerNames":
        """Reads the names of these players. Returns itself."""
        missing = list(set(ids) - self.keys())
        for row in connection.execute(_NAMES, {"ids": missing}) if missing else ():
            self[row.id] = player_name(row.kind, row.name)
        return self


_NAMES = select(players).where(players.c.id.in_(bindparam("ids", expanding=True)))


# --- runs of keys --------------------------------------------------------------------------------


def runs_of(keys: Iterable[int]) -> str:
    """Ascending keys as text: 3, 4, 5, 9 are "3-5,9"."""
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in _runs(keys)
    )


def _runs(keys: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for key in keys:
        if last is not None and key == last + 1:
            last = key
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = key
    if first is not None and last is not None:
        yield first, last


def parse_runs(text: str) -> list[tuple[int, int]]:
    """(first, last) of every run of a text that `runs_of` made. Raises: ValueError."""
    ends = [part.partition("-") for part in text.split(",") if part]
    return [(int(first), int(last or first)) for first, _, last in ends]
