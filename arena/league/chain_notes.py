"""Records of exports and imports of snapshots."""

from sqlalchemy import Connection

from arena.data.paths import IMPORTED
from arena.league.chain import (
    IMPORTS,
    PAGE_RECORDS,
    ChainOwner,
    append,
    chain_head,
    chain_of_population,
    read_records,
    records_in_range,
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
        owner = _owner(connection, population)
        append(connection, owner, [said(EXPORT, 1, snapshot=snapshot_id)])
    return chain_head(league, owner)[1]


def record_download(league: League, population: str, snapshot_id: str) -> None:
    """Records that a snapshot was exported, unless its chain says so already.

    Downloads are many, and of one file; so the chain has at most one record more of a snapshot.
    Raises: PlayerError when there is no such population, PbtError where nothing can be written.
    """
    with league.read() as connection:
        if _is_exported(connection, _owner(connection, population), snapshot_id):
            return
    with league.write() as connection:
        owner = _owner(connection, population)
        if not _is_exported(connection, owner, snapshot_id):
            append(connection, owner, [said(EXPORT, 1, snapshot=snapshot_id)])


def _owner(connection: Connection, population: str) -> ChainOwner:
    """Whose chain tells of the snapshots of a population. Raises: PlayerError."""
    if population == IMPORTED:
        return IMPORTS
    return chain_of_population(int(find_population(connection, population).id))


def _is_exported(connection: Connection, owner: ChainOwner, snapshot_id: str) -> bool:
    """Whether the chain tells of an export of the snapshot."""
    records = records_in_range(connection, owner, EXPORT, 0, 0)
    return any(record.content.said.get("snapshot") == snapshot_id for record in records)


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
