"""The chain of digests. Populations and matches that are there already begin theirs with a count.

Revision ID: 0005. The first records are hashed by the formula of that time, as
`arena.league.chain` states it: no function of today may change them.
"""

import hashlib
import json
import struct
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

NUMBER_BITS, MATCH_FLAG = 36, 1 << 62
NO_ROWS = hashlib.sha256(b"pbt-arena columns 1" + bytes(4)).digest()
COUNTED = {
    "rounds": "SELECT COUNT(*), MAX(r.id) FROM rounds r JOIN incarnations i "
    "ON i.id = r.incarnation_id WHERE i.population_id = ?",
    "events": "SELECT COUNT(*), MAX(e.id) FROM events e JOIN incarnations i "
    "ON i.id = e.incarnation_id WHERE i.population_id = ?",
    "wiring certificates": "SELECT COUNT(*), MAX(w.id) FROM wiring_certificates w "
    "JOIN incarnations i ON i.id = w.incarnation_id WHERE i.population_id = ?",
    "starts": "SELECT COUNT(*), MAX(id) FROM incarnations WHERE population_id = ?",
    "members": "SELECT COUNT(*), MAX(id) FROM members WHERE population_id = ?",
    "snapshots": "SELECT COUNT(*), MAX(id) FROM snapshots WHERE population_id = ?",
}


def upgrade() -> None:
    op.create_table(
        "chain",
        sa.Column("population_id", sa.Integer(), nullable=False),
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("population_id", "match_id", "position"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_chain_kind_first", "chain", ["population_id", "match_id", "kind", "first"], unique=False
    )
    connection, now = op.get_bind(), time.time()
    for (population_id,) in connection.exec_driver_sql("SELECT id FROM populations").all():
        _begin(connection, (population_id, 0), _of_population(connection, population_id), now)
    _begin(connection, (0, 0), {"rows": {"imports": _imports(connection)}, "through": {}}, now)
    counted = "SELECT match_id, COUNT(*), MAX(id) FROM games WHERE match_id IS NOT NULL GROUP BY 1"
    games = {row[0]: row[1:] for row in connection.exec_driver_sql(counted)}
    for (match_id,) in connection.exec_driver_sql("SELECT id FROM matches").all():
        count, last = games.get(match_id, (0, (MATCH_FLAG | match_id << NUMBER_BITS) - 1))
        note = {"rows": {"match games": count, "match": 1}, "through": {"match games": last}}
        note["through"]["match"] = match_id
        _begin(connection, (0, match_id), note, now)


def _of_population(connection: Any, population_id: int) -> dict[str, Any]:
    """How many rows of each kind there are, and the greatest key of each."""
    starts = [
        row[0]
        for row in connection.exec_driver_sql(
            "SELECT id FROM incarnations WHERE population_id = ? ORDER BY id", (population_id,)
        )
    ]
    rows, through = {"population": 1}, {"population": population_id}
    for kind, name in (("training games", 0), ("evaluation games", 1)):
        ends = [
            connection.exec_driver_sql(
                "SELECT COUNT(*), MAX(id) FROM games WHERE id BETWEEN ? AND ? AND kind = ?",
                (start << NUMBER_BITS, (start + 1 << NUMBER_BITS) - 1, name),
            ).one()
            for start in starts
        ]
        rows[kind] = sum(count for count, _ in ends)
        through[kind] = max((last for _, last in ends if last is not None), default=0)
    for kind, query in COUNTED.items():
        count, last = connection.exec_driver_sql(query, (population_id,)).one()
        rows[kind], through[kind] = count, last or 0
    folded = connection.exec_driver_sql(
        "SELECT through_game_id, games, unscored_games FROM folds WHERE population_id = ?",
        (population_id,),
    ).first()
    return {"rows": rows, "through": through, "folds": list(folded or (0, 0, 0))}


def _imports(connection: Any) -> int:
    """How many cards of imported snapshots lie beside the league."""
    files = [row[2] for row in connection.exec_driver_sql("PRAGMA database_list")]
    return sum(len(list((Path(file).parent / "imported").glob("*.json"))) for file in files if file)


def _begin(connection: Any, owner: tuple[int, int], note: dict[str, Any], now: float) -> None:
    """Inserts the first record of a chain."""
    text = json.dumps(note, sort_keys=True, separators=(",", ":"))
    count = sum(note["rows"].values())
    numbers = struct.pack("<QqqQdHQ", 1, 0, 0, count, now, len(b"begin"), len(text.encode()))
    hashed = b"".join((bytes(32), numbers, b"begin", NO_ROWS, text.encode()))
    connection.exec_driver_sql(
        "INSERT INTO chain (population_id, match_id, position, kind, first, last, count, digest, "
        "head, note, created_at) VALUES (?, ?, 1, 'begin', 0, 0, ?, ?, ?, ?, ?)",
        (*owner, count, NO_ROWS, hashlib.sha256(hashed).digest(), text, now),
    )


def downgrade() -> None:
    op.drop_index("ix_chain_kind_first", "chain")
    op.drop_table("chain")
