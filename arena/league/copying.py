"""A copy of the league as it stood at one moment, while others write to it.

The caller opens a view with `League.read`, looks at files that belong to the rows of that view, and
copies the same view.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, select

from arena.league.chain import chain_end, chain_of_population
from arena.league.database import League
from arena.league.league_file import LeagueError
from arena.league.schema import populations, snapshots
from pbt.errors import PbtError

PAGES_AT_ONCE = 2_000

Copied = Callable[[int, int], None]
"""Called with (pages that were copied, pages in all)."""


@dataclass(frozen=True, slots=True)
class ViewedPopulation:
    """What one view of the league says of a population.

    name       its name
    state      the state that the league has of it
    head       head of its chain, in hexadecimal
    snapshots  ids of the snapshots whose weights must be there
    """

    name: str
    state: str
    head: str
    snapshots: frozenset[str]


def populations_in(connection: Connection) -> list[ViewedPopulation]:
    """All populations of a view, sorted by name."""
    rows = connection.execute(
        select(populations.c.id, populations.c.name, populations.c.state).order_by(
            populations.c.name
        )
    ).all()
    return [
        ViewedPopulation(
            row.name,
            row.state,
            chain_end(connection, chain_of_population(row.id))[1].hex(),
            _with_weights(connection, row.id),
        )
        for row in rows
    ]


def _with_weights(connection: Connection, population_id: int) -> frozenset[str]:
    """A superseded snapshot need not have its file, nor one whose weights retention removed."""
    there = (
        snapshots.c.population_id == population_id,
        snapshots.c.weights_removed == 0,
        snapshots.c.superseded == 0,
    )
    return frozenset(connection.execute(select(snapshots.c.snapshot_id).where(*there)).scalars())


def copy_league(connection: Connection, copy: Path, copied: Copied) -> None:
    """Copies the view that the connection reads into a new file, and checks the copy.

    The copy names no processes: a service that starts on it must not take those of the original
    for its own, and end them.
    Raises: PbtError when the copy cannot be written, or is damaged because the league is.
    """
    source = cast(sqlite3.Connection, connection.connection.driver_connection)
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as target:
            source.backup(
                target,
                pages=PAGES_AT_ONCE,
                progress=lambda _, left, total: copied(total - left, total),
            )
            target.execute("PRAGMA journal_mode=DELETE")
            target.execute("PRAGMA synchronous=OFF")  # the caller waits for the disk
            target.execute("UPDATE supervised SET trainer = NULL")
            target.execute("UPDATE evaluations SET process = NULL")
            faults = [row[0] for row in target.execute("PRAGMA quick_check")]
    except sqlite3.Error as error:
        raise PbtError(f"{copy}: the league could not be copied there: {error}") from error
    if faults != ["ok"]:
        raise LeagueError(
            f"the league is damaged ({'; '.join(faults[:3])}), so a backup of it would be, too; "
            "`arena doctor` and `arena verify` say more"
        )


def identity_in(copy: Path) -> int:
    """The identity in the file of a league that no process has open. Raises: PbtError."""
    try:
        with closing(sqlite3.connect(f"{copy.absolute().as_uri()}?mode=ro", uri=True)) as found:
            return int(found.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error as error:
        raise PbtError(f"{copy}: no league: {error}") from error


def size_of(league: League) -> int:
    """Bytes of a copy of the league now."""
    with league.read() as connection:
        pages, size = (
            int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
            for name in ("page_count", "page_size")
        )
    return pages * size
