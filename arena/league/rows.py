"""Conversion of records to database rows and back; no other module knows both forms.

Floats keep all their bits, also in JSON.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from typing import Any

import msgspec
from sqlalchemy import Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import insert

from arena.league.schema import EVALUATION, MAX_NUMBER, PLAYER_KINDS, TRAINING
from pbt.errors import EngineError
from pbt.records import (
    Against,
    Directive,
    Event,
    GameRecord,
    MemberScore,
    PlayerRef,
    RoundRecord,
    SeatRecord,
    SnapshotRecord,
    is_voided,
)

Row = tuple[Any, ...]

GAME_COLUMNS = (
    "id",
    "incarnation_id",
    "match_id",
    "environment",
    "count",
    "number",
    "kind",
    "seed",
    "steps",
    "frames",
    "end_reason",
    "voided",
    "superseded",
    "greedy",
    "opening_plies",
    "pair",
    "committed_at",
    "trajectory_hash",
    "actions",
)
SEAT_COLUMNS = (
    "game_id",
    "seat",
    "player_id",
    "generation",
    "version_start",
    "version_end",
    "place",
    "returns",
    "points",
)


@cache
def insert_sql(table: Table, columns: Sequence[str], unless: Sequence[str]) -> str:
    """An INSERT with one `?` per column that skips rows whose key exists already.

    A repeated commit therefore changes nothing. The text is for `exec_driver_sql` with tuples,
    which takes half the processor time of SQLAlchemy's construct with dictionaries.

    columns  the columns, in the table's order
    unless   the columns of the key
    """
    statement = insert(table).on_conflict_do_nothing(index_elements=list(unless))
    compiled = statement.compile(dialect=sqlite.dialect(), column_keys=list(columns))
    if tuple(compiled.positiontup or ()) != tuple(columns):
        raise EngineError(
            f"columns of {table.name}: given {columns}, compiled {compiled.positiontup}; "
            "list them in the table's order"
        )
    return str(compiled)


def game_row(
    key: int, incarnation_id: int | None, match_id: int | None, game: GameRecord, committed_at: int
) -> Row:
    """A game's row, in the order of GAME_COLUMNS.

    Raises: EngineError on a number that does not fit into a key, and on a trajectory hash that is
    not hexadecimal.
    """
    if not 0 <= game.number <= MAX_NUMBER:
        raise EngineError(f"game number {game.number}: expected 0 to {MAX_NUMBER}")
    try:
        trajectory = bytes.fromhex(game.trajectory_hash)
    except ValueError:
        raise EngineError(
            f"game {game.number}: trajectory_hash = {game.trajectory_hash!r}; expected "
            "hexadecimal digits"
        ) from None
    return (
        key,
        incarnation_id,
        match_id,
        game.environment,
        game.count,
        game.number,
        TRAINING if game.kind == "training" else EVALUATION,
        game.seed,
        game.steps,
        game.frames,
        game.end_reason,
        1 if is_voided(game.end_reason) else 0,
        0,
        1 if game.greedy else 0,
        game.opening_plies,
        game.pair,
        committed_at,
        trajectory,
        game.actions,
    )


def seat_row(key: int, seat: int, player_id: int, record: SeatRecord) -> Row:
    """A seat's row, in the order of SEAT_COLUMNS."""
    return (
        key,
        seat,
        player_id,
        record.generation,
        record.version_start,
        record.version_end,
        record.place,
        record.returns,
        record.points,
    )


def to_game(row: Any, seats: Sequence[Any]) -> GameRecord:
    """The record of a whole row of `games` and its seats, as `read_seats` returns them.

    The columns are unpacked by position: access by name takes twice as long, and games are many.
    """
    (
        _,
        _,
        _,
        environment,
        count,
        number,
        kind,
        seed,
        steps,
        frames,
        end_reason,
        _,
        _,
        greedy,
        opening_plies,
        pair,
        _,
        trajectory_hash,
        actions,
    ) = row
    return GameRecord(
        number,
        environment,
        count,
        "training" if kind == TRAINING else "evaluation",
        seed,
        tuple([SeatRecord(to_player(kind, name), *values) for _, kind, name, *values in seats]),
        steps,
        frames,
        end_reason,
        trajectory_hash.hex(),
        actions,
        opening_plies,
        bool(greedy),
        pair,
    )


@lru_cache(maxsize=1024)
def to_player(kind: int, name: str) -> PlayerRef:
    return PlayerRef(PLAYER_KINDS[kind], name)


def round_values(record: RoundRecord) -> dict[str, Any]:
    return {
        "member": record.member,
        "round": record.round,
        "frames": record.frames,
        "scores": to_json([asdict(score) for score in record.scores]),
        "hyperparams": to_json(
            {member: dict(values) for member, values in record.hyperparams.items()}
        ),
        "rules": to_json(dict(record.rules)),
        "seed": record.seed,
        "verdict": record.verdict,
        "directive": to_json(
            {
                "member": record.directive.member,
                "round": record.directive.round,
                "copy_from": record.directive.copy_from,
                "copy_snapshot": record.directive.copy_snapshot,
                "hyperparams": dict(record.directive.hyperparams),
                "mutated": list(record.directive.mutated),
            }
        ),
    }


def to_round(row: Any) -> RoundRecord:
    return RoundRecord(
        member=row.member,
        round=row.round,
        frames=row.frames,
        scores=tuple(_to_score(score) for score in json.loads(row.scores)),
        hyperparams=json.loads(row.hyperparams),
        rules=json.loads(row.rules),
        seed=row.seed,
        verdict=row.verdict,
        directive=to_directive(row.directive),
    )


_DIRECTIVE = msgspec.json.Decoder(Directive)


def to_directive(stored: str) -> Directive:
    return _DIRECTIVE.decode(stored)


def _to_score(stored: dict[str, Any]) -> MemberScore:
    """A stored score as a record. Rows of earlier versions hold no games by opponent."""
    return MemberScore(
        **{**stored, "against": tuple(Against(**part) for part in stored.get("against", ()))}
    )


def snapshot_values(record: SnapshotRecord) -> dict[str, Any]:
    return asdict(record)


def to_snapshot(row: Any) -> SnapshotRecord:
    return SnapshotRecord(
        row.snapshot_id,
        row.member,
        row.role,
        row.generation,
        row.version,
        row.frames,
        row.reason,
        row.parent_id,
        row.size_bytes,
    )


def event_values(event: Event) -> dict[str, Any]:
    return {"kind": event.kind, "member": event.member, "frames": event.frames, "text": event.text}


def to_json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON with one spelling for equal values, so that options can be compared as text.

    Raises: ValueError on nan and inf, TypeError on types that JSON does not have.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
