"""Access to the league: one SQLite file in WAL mode, shared by all processes of a data directory.

No other module opens the file, but `identity`, which tells whether it is the same one as before. A
writer takes the write lock when it begins (BEGIN IMMEDIATE), so two writers wait for each other
instead of failing half-way; readers never wait. With `synchronous=FULL`, a commit is on the disk
before it is acknowledged, so a power failure loses no more than a killed process does.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, cast

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Table,
    create_engine,
    event,
    func,
    insert,
    select,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from arena.data.lock import check_locks
from arena.league.identity import Place, agree, folder_identity, stored_identity
from arena.league.league_file import LeagueError, make_file, without_writing
from arena.league.migrate import ensure_schema, refuse_other_schema
from arena.league.pair_totals import PairTotals
from pbt.errors import PbtError

BUSY_TIMEOUT_MS = 15_000
KEPT_CONNECTIONS = 4
MOST_WORDS = 300
DAMAGED = "; it is damaged: `arena doctor` and `arena verify` say more; restore a backup"
# The schema was the right one when the league was opened, so a table cannot be missing otherwise.
WORDS_OF_DAMAGE = ("malformed", "not a database", "no such table", "no such column")


class NoLeagueError(PbtError):
    """A data directory has no league, because no game was played there, or it is the wrong one."""

    exit_code = 2


class League:
    """An open league. Several threads may use it.

    A caller takes a connection for one block and never keeps it.

    path         the database file
    read_only    whether it is open for reading only
    pair_totals  cached results of pairs of players
    """

    def __init__(self, path: Path, engine: Engine, *, read_only: bool) -> None:
        self.path, self.read_only, self._engine = path, read_only, engine
        self.pair_totals = PairTotals()
        self._place: Place | None = None
        self._kept: Connection | None = None
        self._reading = _Reading()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view of all committed rows.

        Keep the block short, because the write-ahead log grows while a reader is open. A read
        inside a read of the same thread sees the same view.
        """
        if self._reading.now is not None:
            yield self._reading.now
            return
        self.refuse_if_away()
        with self._named_errors(), self._engine.connect() as connection:
            # BEGIN and ROLLBACK go to SQLite directly: SQLAlchemy takes longer for each of them
            # than many reads take.
            sqlite = cast(sqlite3.Connection, connection.connection.driver_connection)
            sqlite.execute("BEGIN")
            self._reading.now = connection
            try:
                yield connection
            finally:
                self._reading.now = None
                sqlite.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One short transaction that holds the write lock from the start.

        It is committed at the end of the block, and rolled back on an error.
        """
        if self.read_only:
            raise PbtError(f"league {self.path} is open for reading only")
        self.refuse_if_away()
        with self._named_errors(), self._engine.connect() as connection, immediate(connection):
            yield connection

    def connect(self) -> Connection:
        """A connection in autocommit that the caller keeps, for use with `immediate`.

        It serves callers that commit repeatedly. Raises: sqlalchemy's DBAPIError.
        """
        return self._engine.connect()

    def refuse_if_away(self) -> int:
        """Returns how often the league has come back in another file since it was opened.

        Connections that were taken before it came back belong to the old file.
        Raises: LeagueError while another file, or none, is where the league was opened. Nothing
        may be written then: it would be lost, or split the league in two.
        """
        if self._place is None:
            return 0
        if (problem := self._place.look(self._reopen)) is not None:
            raise LeagueError(f"league {self.path}: {problem}")
        return self._place.returns

    @property
    def identity(self) -> int | None:
        """The identity of the league and its folder; None for one that is open for reading."""
        return None if self._place is None else self._place.identity

    def _reopen(self) -> None:
        if self._kept is not None:
            self._kept.close()
        self._engine.dispose()
        self.keep_files()

    def identify(self) -> None:
        """Gives the league and its folder one identity, unless they have it.

        Raises: PbtError when they have different ones.
        """
        with self.read() as connection:
            identity = stored_identity(connection)
        if not identity or identity != folder_identity(self.path.parent):
            with self.write() as connection:
                identity = agree(self.path, stored_identity(connection))
                connection.exec_driver_sql(f"PRAGMA user_version={identity}")
        self._place = Place(self.path, identity)

    def keep_files(self) -> None:
        """Holds an idle connection until the league is closed.

        SQLite removes the write-ahead log with its last connection, and the next reader needs disk
        space for a new one. On a full disk, no process could read then.
        """
        self._kept = self._engine.connect()
        self._kept.exec_driver_sql("PRAGMA schema_version").close()

    def close(self) -> None:
        """Close the connections; one that another thread reads from is closed when it has read."""
        if self._kept is not None:
            self._kept.close()
        event.listen(self._engine.pool, "checkin", lambda connection, record: record.invalidate())
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            check_locks(self.path.parent)
            cause = str(error.orig if isinstance(error, DBAPIError) else error)[:MOST_WORDS]
            raise LeagueError(f"league {self.path}: {cause}{self._advice(cause)}") from error
        except (json.JSONDecodeError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise LeagueError(
                f"league {self.path}: a row cannot be read ({error}){DAMAGED}"
            ) from error

    def _advice(self, cause: str) -> str:
        """What to do about an error of SQLite; "" where its words say enough."""
        if "readonly" in cause:
            return (
                f"; its folder {self.path.parent} cannot be written to: copy the data directory to "
                "one that can, and name that with --data (in Python data=)"
            )
        return DAMAGED * any(words in cause for words in WORDS_OF_DAMAGE)


class _Reading(threading.local):
    """The state of one thread.

    now  the connection that the thread reads from, None outside `League.read`
    """

    now: Connection | None = None


@contextmanager
def immediate(connection: Connection) -> Iterator[None]:
    """A transaction on a connection in autocommit; it holds the write lock from the start."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    try:
        yield
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        if connection.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]
            connection.exec_driver_sql("ROLLBACK")
        raise


def insert_row(connection: Connection, table: Table, **values: Any) -> int:
    """Inserts a row and returns its id."""
    row = connection.execute(insert(table).values(**values))
    assert row.inserted_primary_key is not None
    return int(row.inserted_primary_key[0])


def count_rows(connection: Connection, table: Table, *where: ColumnElement[bool]) -> int:
    """How many rows of a table meet all conditions."""
    counted = select(func.count()).select_from(table).where(*where)
    return int(connection.execute(counted).scalar_one())


def newest_rows(
    league: League,
    table: Table,
    where: Iterable[ColumnElement[bool]],
    before: int | None,
    limit: int,
) -> tuple[Sequence[Any], int | None]:
    """(a page of a table's rows, newest first; the id before which the next page begins or None).

    where   the conditions of the rows
    before  only rows with smaller ids; None: from the newest
    limit   most rows of a page
    """
    query = select(table).where(*where).order_by(table.c.id.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(table.c.id < before)
    with league.read() as connection:
        rows = connection.execute(query).all()
    return rows[:limit], rows[limit - 1].id if len(rows) > limit else None


def open_league(path: Path, *, read_only: bool = False) -> League:
    """Opens the league. Unless it is read only, a missing file is made and an older one upgraded.

    Raises: NoLeagueError when the file is missing (reading only), PbtError when it is no database
    or has a schema that this program cannot use.
    """
    if read_only and not path.exists():
        raise NoLeagueError(
            f"league {path}: nothing there yet; train a population first, or name another "
            "data directory with --data (in Python data=)"
        )
    if not read_only:
        make_file(path)
    league = League(path, _engine(path, read_only), read_only=read_only)
    try:
        with league._named_errors():
            if read_only:
                refuse_other_schema(league._engine, path)
            else:
                ensure_schema(league._engine, path)
                league.keep_files()
                league.identify()
    except BaseException:
        league.close()
        raise
    return league


def upgrade_league(path: Path) -> None:
    """Upgrades an existing league to this program's schema. Raises: PbtError.

    Commands that will write call it before they read. It makes no league where there is none.
    """
    if path.exists():
        open_league(path).close()


def _engine(path: Path, read_only: bool) -> Engine:
    uri = path.absolute().as_uri() + ("?mode=ro" if read_only else "?mode=rw")
    if read_only and not os.access(path.parent, os.W_OK):
        uri += without_writing(path)

    def connect() -> sqlite3.Connection:
        # With isolation_level None, the driver begins no transaction by itself; this module begins
        # them explicitly.
        return sqlite3.connect(
            uri,
            uri=True,
            timeout=BUSY_TIMEOUT_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
        )

    # Opening the file and reading its schema takes longer than most queries, so idle connections
    # are reused; more are made when they are needed.
    engine = create_engine(
        "sqlite://",
        creator=connect,
        poolclass=QueuePool,
        pool_size=KEPT_CONNECTIONS,
        max_overflow=-1,
        isolation_level="AUTOCOMMIT",
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, record: Any) -> None:
        connection.execute("PRAGMA foreign_keys=ON")
        if not read_only:
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous=FULL")

    return engine


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Put the file in WAL mode, which stays.

    SQLite's own timeout does not hold for this statement: when another process puts the same new
    file in WAL mode, SQLite refuses at once.
    """
    until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.02)


def damage(league: League) -> list[str]:
    """The faults that SQLite's quick check finds; [] for a sound file. It reads the whole file."""
    with league.read() as connection:
        lines = [row[0] for row in connection.exec_driver_sql("PRAGMA quick_check")]
    return [] if lines == ["ok"] else lines
