"""Records of exports and imports of snapshots."""

from sqlalchemy import Connection

from arena.data.paths import IMPORTED
from arena.league.chain import (
    IMPORTS,
    PAGE_RECORDS,
    append,
    chain_head,
    chain_of_population,
    read_records,
    said,
)
from arena.league.database import League
from arena.league.populations import find_population

EXPORT, IMPORT, REMOVAL = "export", "import", "import removed"


def record_export(league: League, population: str, snapshot_id: str) -> str:
    """Records that a snapshot was exported. Returns the head of its chain, in hexadecimal.

    population  whose snapshot it is; IMPORTED for one that was imported itself
    Raises: PlayerError when there is no such population.
    """
    with league.write() as connection:
        owner = (
            IMPORTS
            if population == IMPORTED
            else chain_of_population(int(find_population(connection, population).id))
        )
        append(connection, owner, [said(EXPORT, 1, snapshot=snapshot_id)])
    return chain_head(league, owner)[1]


def record_import(league: League, name: str, snapshot_id: str | None) -> str:
    """Records that a snapshot was imported, or removed. Returns the head of the imports' chain.

    name         as which it plays, without "imported/"
    snapshot_id  its id; None: it was removed
    """
    with league.write() as connection:
        note_import(connection, name, snapshot_id)
    return chain_head(league, IMPORTS)[1]


def note_import(connection: Connection, name: str, snapshot_id: str | None) -> None:
    """Records in an open transaction what `record_import` records."""
    kind = REMOVAL if snapshot_id is None else IMPORT
    append(connection, IMPORTS, [said(kind, 1, name=name, snapshot=snapshot_id)])


def imported_by_records(league: League) -> dict[str, str]:
    """Name -> id of every snapshot that was imported and not removed, by the records."""
    imported: dict[str, str] = {}
    after = 0
    while True:
        with league.read() as connection:
            page = read_records(connection, IMPORTS, after)
        for record in page:
            note = record.content.said
            if record.content.kind == IMPORT:
                imported[note["name"]] = note["snapshot"]
            elif record.content.kind == REMOVAL:
                imported.pop(note["name"], None)
        if len(page) < PAGE_RECORDS:
            return imported
        after = page[-1].position
