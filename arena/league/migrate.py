"""A league is made or upgraded to this program's schema here.

Alembic loads slowly, so it is imported only when there is something to migrate.
"""

import fcntl
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Engine

from arena.league.schema import SCHEMA_REVISION
from pbt.errors import PbtError

UPGRADE_WAIT_S = 300.0
SCRIPTS = Path(__file__).parent / "migrations"


def ensure_schema(
    engine: Engine, path: Path, scripts: Path = SCRIPTS, revision: str = SCHEMA_REVISION
) -> None:
    """Makes or upgrades the tables, in one process at a time.

    Before an upgrade, a copy of the league is made beside it, named after its old revision.
    scripts   folder of the migrations
    revision  the newest of them
    Raises: PbtError when the file is newer than this program, or holds other tables.
    """
    if _stored_revision(engine) == revision:
        return
    with _one_process(path):
        stored = _stored_revision(engine)
        if stored == revision:
            return
        _refuse_foreign(engine, path, stored)
        _upgrade(engine, path, scripts, stored, revision)


def refuse_other_schema(engine: Engine, path: Path) -> None:
    """Raises: PbtError unless the schema is this program's. Readers call it; they never upgrade."""
    stored = _stored_revision(engine)
    if stored == SCHEMA_REVISION:
        return
    if stored is None:
        raise PbtError(
            f"league {path}: holds no league tables; expected a league written by `arena train`"
        )
    raise PbtError(
        f"league {path}: its schema is {stored}, this program's is {SCHEMA_REVISION}; "
        + (
            (
                "commands that write upgrade it and keep a copy beside it; `arena upgrade` does "
                "only that"
            )
            if stored < SCHEMA_REVISION
            else "upgrade pbt-arena to open it"
        )
    )


def _stored_revision(engine: Engine) -> str | None:
    """The revision that the file names, None where it has no league tables."""
    with engine.connect() as connection:
        has_revision = connection.exec_driver_sql(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'"
        ).first()
        row = (
            connection.exec_driver_sql("SELECT version_num FROM alembic_version").first()
            if has_revision
            else None
        )
    return None if row is None else str(row[0])


def _refuse_foreign(engine: Engine, path: Path, stored: str | None) -> None:
    with engine.connect() as connection:
        names = [
            row[0]
            for row in connection.exec_driver_sql(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
        ]
    if stored is None and names:
        raise PbtError(
            f"league {path}: holds tables that are not a league's "
            f"({', '.join(sorted(names)[:3])}); name another data directory with --data "
            "(in Python data=)"
        )


def _upgrade(engine: Engine, path: Path, scripts: Path, stored: str | None, revision: str) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if stored is not None and stored not in known:
        raise PbtError(
            f"league {path}: its schema is {stored}, newer than this program's {revision}; "
            "upgrade pbt-arena to open it (nothing was changed)"
        )
    if stored is not None:
        _back_up(path, stored)
    with engine.connect() as connection:
        # Alembic rebuilds tables to alter them, which foreign keys would turn into deletions, and
        # its own BEGIN would come after the first read. A connection with these settings is not
        # returned to the pool.
        connection.detach()
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, revision)
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
            if broken:
                raise PbtError(
                    f"league {path}: the upgrade to {revision} would break {len(broken)} "
                    "references; nothing was changed, please report it"
                )
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise


def _back_up(path: Path, revision: str) -> None:
    copy = path.with_name(f"{path.name}.schema-{revision}.backup")
    unfinished = copy.with_name(copy.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("VACUUM INTO ?", (str(unfinished),))
    unfinished.replace(copy)


@contextmanager
def _one_process(path: Path) -> Iterator[None]:
    """Holds the upgrade lock, which is released when its process ends.

    Raises: PbtError when another process keeps it for UPGRADE_WAIT_S.
    """
    name = path.with_name(path.name + ".upgrade-lock")
    deadline = time.monotonic() + UPGRADE_WAIT_S
    with open(name, "w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise PbtError(
                        f"league {path}: another process has been upgrading it for "
                        f"{UPGRADE_WAIT_S:.0f} s (it holds {name}); try later"
                    ) from None
                time.sleep(0.02)
        yield
