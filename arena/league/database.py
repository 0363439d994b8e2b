"""Opening the league: one SQLite file in WAL, shared by every process of a data directory; nothing
else opens it.

Writers take the write lock when they begin (BEGIN IMMEDIATE), so two of them wait for each other
instead of failing half-way; readers never wait. `synchronous=FULL`: a commit is on the disk before
it is acknowledged, so a power cut loses no more than a killed process does.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from arena.league.migrate import ensure_schema, refuse_other_schema
from arena.league.pair_totals import PairTotals
from pbt.errors import PbtError

BUSY_TIMEOUT_MS = 15_000
KEPT_CONNECTIONS = 4


class NoLeagueError(PbtError):
    """A data directory without a league: nothing was trained or played there, or another one was
    meant.
    """

    exit_code = 2


class League:
    """An open league. Connections are taken per block and never kept by a caller; a League may
    be used from several threads.
    """

    def __init__(self, path: Path, engine: Engine, *, read_only: bool) -> None:
        self.path, self.read_only, self._engine = path, read_only, engine
        self.pair_totals = PairTotals()
        self._kept: Connection | None = None
        self._reading = _Reading()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view of everything committed. Keep it short: a long reader makes the
        write-ahead log grow.

        A read within a read, of the same thread, sees what the outer one sees.
        """
        if self._reading.now is not None:
            yield self._reading.now
            return
        with self._named_errors(), self._engine.connect() as connection:
            # By SQLite's own hands: SQLAlchemy takes longer to say each of these two words than
            # many a read within them takes.
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
        """One short transaction that holds the write lock from its first moment; committed at
        the end, rolled back on an error.
        """
        if self.read_only:
            raise PbtError(f"league {self.path} is open for reading only")
        with self._named_errors(), self._engine.connect() as connection, immediate(connection):
            yield connection

    def connect(self) -> Connection:
        """A connection of one's own, in autocommit: for `immediate`, by whoever commits again
        and again. Raises: sqlalchemy's DBAPIError.
        """
        return self._engine.connect()

    def keep_files(self) -> None:
        """Hold a connection, at rest, until closed. The last one to go takes the write-ahead log
        with it; to read then needs room for a new one: on a full disk nobody could read.
        """
        self._kept = self._engine.connect()
        self._kept.exec_driver_sql("PRAGMA schema_version").close()

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            said = error.orig if isinstance(error, DBAPIError) else error
            hint = (
                f"; SQLite writes in {self.path.parent} even to read: expected one you may "
                "write to, or a copy"
            ) * ("readonly" in str(said))
            raise PbtError(f"league {self.path}: {said}{hint}") from error


class _Reading(threading.local):
    """now: the connection this thread reads from"""

    now: Connection | None = None


@contextmanager
def immediate(connection: Connection) -> Iterator[None]:
    """A transaction on a connection in autocommit, holding the write lock from the start."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    try:
        yield
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        if connection.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]
            connection.exec_driver_sql("ROLLBACK")
        raise


def open_league(path: Path, *, read_only: bool = False) -> League:
    """Open for reading and writing (made, or brought to this program's schema, if need be) or for
    reading only.

    Raises: NoLeagueError when the file is missing (reading only), PbtError when it is no database,
    or has a schema this program cannot use.
    """
    if read_only and not path.exists():
        raise NoLeagueError(
            f"league {path}: nothing there yet; train a population first, or name another "
            "data directory with --data"
        )
    if not read_only:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PbtError(
                f"league {path}: its folder cannot be made: {error}; name another data "
                "directory with --data"
            ) from error
    league = League(path, _engine(path, read_only), read_only=read_only)
    try:
        with league._named_errors():
            if read_only:
                refuse_other_schema(league._engine, path)
            else:
                ensure_schema(league._engine, path)
                league.keep_files()
    except BaseException:
        league.close()
        raise
    return league


def upgrade_league(path: Path) -> None:
    """For commands that will write, before they read: bring a league to this program's schema;
    where there is none, make none. Raises: PbtError.
    """
    if path.exists():
        open_league(path).close()


def _engine(path: Path, read_only: bool) -> Engine:
    uri = path.absolute().as_uri() + ("?mode=ro" if read_only else "?mode=rwc")

    def connect() -> sqlite3.Connection:
        # isolation_level None: the driver begins nothing by itself, transactions are said in full
        # where they matter.
        return sqlite3.connect(
            uri,
            uri=True,
            timeout=BUSY_TIMEOUT_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
        )

    # Opening a file and reading its schema takes longer than most queries: connections at rest are
    # used again, more are made where more are needed.
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
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")

    return engine


def damage(league: League) -> list[str]:
    """What SQLite's quick check finds wrong with the file; [] when it is sound. Reads the whole
    file.
    """
    with league.read() as connection:
        lines = [row[0] for row in connection.exec_driver_sql("PRAGMA quick_check")]
    return [] if lines == ["ok"] else lines
