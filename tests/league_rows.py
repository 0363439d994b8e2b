"""The games of a league as rows, for those who look at its file past the program.

It reads blocks number by number, as `arena.league.block_bytes` describes them, and shares no code
with the program.
"""

import json
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

NUMBER_BITS = 36
NONE = -(1 << 63)
BLOCKS = "SELECT * FROM game_blocks WHERE id > ? ORDER BY id"
SEAT = ("generation", "version_start", "version_end", "place", "returns", "points")


def numbers(content: bytes, at: int, form: str, base: int, rows: int) -> tuple[list[Any], int]:
    """(the numbers of a column, where its bytes end)."""
    if form == "0":
        return [base] * rows, at
    width = 8 if form in "8f" else int(form)
    code = {"8": "<q", "f": "<d", "1": "<B", "2": "<H", "4": "<I"}[form]
    found = []
    for row in range(rows):
        one = bytes(content[at + plane * rows + row] for plane in range(width))
        found.append(struct.unpack(code, one)[0] + (0 if form in "8f" else base))
    return found, at + width * rows


def columns(packed: bytes) -> dict[str, Any]:
    """Column -> its numbers, hashes and actions; and the head's reasons and players."""
    version, size = struct.unpack_from("<BI", packed)
    assert version == 1
    inside, behind = zlib.decompress(packed[5 : 5 + size]), packed[5 + size :]
    (length,) = struct.unpack_from("<I", inside)
    head = json.loads(inside[4 : 4 + length])
    found: dict[str, Any] = {"reasons": head["reasons"], "players": head["players"]}
    at, apart = 4 + length, 0
    seats = False
    for name, form, base in head["columns"]:
        seats = seats or name == "generation"
        rows = head["seats"] if seats else head["games"]
        if name == "seed":
            found[name], apart = numbers(behind, 0, form, base, rows)
        else:
            found[name], at = numbers(inside, at, form, base, rows)
    found["number"] = list(accumulate(found["number"], initial=head["first"]))[1:]
    for name, content, first in (("hash", behind, apart), ("action", inside, at)):
        found[name] = []
        for size in found[f"{name}_bytes"]:
            found[name].append(None if size < 0 else content[first : first + size])
            first += max(size, 0)
        assert first == len(content)
    return found


def block_rows(block: sqlite3.Row) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """(row of a game, rows of its seats) of every game of a block."""
    start, own = block["id"] >> NUMBER_BITS, columns(block["columns"])
    seat = 0
    for game, number in enumerate(own["number"]):
        key, reason = start << NUMBER_BITS | number, own["reasons"][own["reason"][game]]
        names = ("environment", "count", "seed", "steps", "frames", "greedy", "opening_plies")
        pair, gone = own["pair"][game], block["superseded_from"]
        row = {name: own[name][game] for name in names} | {
            "id": key,
            "incarnation_id": start,
            "number": number,
            "kind": 0,
            "end_reason": reason,
            "voided": int(reason.startswith("voided")),
            "superseded": int(gone is not None and key >= gone),
            "pair": None if pair == NONE else pair,
            "committed_at": block["committed_at"],
            "trajectory_hash": own["hash"][game],
            "actions": own["action"][game],
        }
        seats = []
        for place in range(own["seated"][game]):
            of_seat = {name: own[name][seat] for name in SEAT}
            points = of_seat["points"]
            of_seat["points"] = None if points != points else points
            player = own["players"][own["player"][seat]]
            seats.append({"game_id": key, "seat": place, "player_id": player, **of_seat})
            seat += 1
        yield row, seats


def _has_blocks(connection: sqlite3.Connection) -> bool:
    found = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'game_blocks'"
    return connection.execute(found).fetchone() is not None


def new_blocks(connection: sqlite3.Connection, after: int) -> list[sqlite3.Row]:
    """The blocks whose first game has a key behind this one."""
    if not _has_blocks(connection):
        return []
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(BLOCKS, (after,)).fetchall()


def with_rows(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Make a connection for which `games` and `game_seats` hold all games, those of blocks, too.

    They are tables of the connection's own: nothing in the league changes.
    """
    if not _has_blocks(connection):
        return connection
    for table in ("games", "game_seats"):
        connection.execute(f"CREATE TEMP TABLE {table} AS SELECT * FROM main.{table}")
    connection.execute("CREATE INDEX temp.seats_of_game ON game_seats (game_id)")
    for block in new_blocks(connection, 0):
        for game, seats in block_rows(block):
            for table, row in (("games", game), *(("game_seats", seat) for seat in seats)):
                marks = ", ".join("?" * len(row))
                names = ", ".join(row)
                connection.execute(
                    f"INSERT INTO temp.{table} ({names}) VALUES ({marks})", tuple(row.values())
                )
    return connection


def league_rows(path: Path | str) -> sqlite3.Connection:
    """A connection to a league, as `with_rows` makes it. The caller closes it."""
    return with_rows(sqlite3.connect(path))
