"""Conversion of records to database rows and back; no other module knows both forms.

Floats keep all their bits, also in JSON.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from sqlalchemy import Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import insert

from arena.league.schema import (
    EVALUATION,
    MAX_NUMBER,
    PLAYER_KINDS,
    TRAINING,
    UNKNOWN_VERSION,
)
from pbt.errors import EngineError
from pbt.records import (
    Directive,
    GameRecord,
    MemberScore,
    PlayerRef,
    RoundRecord,
    SeatRecord,
    WiringCertificate,
    WiringCheck,
    is_voided,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = tuple[Any, ...]

R = TypeVar("R", bound="DataclassInstance")


@cache
def insert_sql(table: Table, unless: Sequence[str]) -> str:
    """An INSERT with one `?` per column of a table that skips rows whose key exists already.

    A repeated commit therefore changes nothing. The text is for `exec_driver_sql` with tuples,
    which takes half the processor time of SQLAlchemy's construct with dictionaries.

    unless  the columns of the key
    """
    statement = insert(table).on_conflict_do_nothing(index_elements=list(unless))
    return str(statement.compile(dialect=sqlite.dialect(), column_keys=table.c.keys()))


def game_row(
    key: int, incarnation_id: int | None, match_id: int | None, game: GameRecord, committed_at: int
) -> Row:
    """A game's row, in the order of the table's columns.

    Raises: EngineError on a number that does not fit into a key, and as `trajectory_of`.
    """
    if not 0 <= game.number <= MAX_NUMBER:
        raise EngineError(f"game number {game.number}: expected 0 to {MAX_NUMBER}")
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
        trajectory_of(game),
        game.actions,
    )


def trajectory_of(game: GameRecord) -> bytes:
    """The bytes of a game's trajectory hash. Raises: EngineError when it is not hexadecimal."""
    try:
        return bytes.fromhex(game.trajectory_hash)
    except ValueError:
        raise EngineError(
            f"game {game.number}: trajectory_hash = {game.trajectory_hash!r}; expected "
            "hexadecimal digits"
        ) from None


def seat_row(key: int, seat: int, player_id: int, record: SeatRecord) -> Row:
    """A seat's row, in the order of the table's columns."""
    return (
        key,
        seat,
        player_id,
        record.generation,
        UNKNOWN_VERSION if record.version_start is None else record.version_start,
        record.version_end,
        record.place,
        record.returns,
        record.points,
    )


def to_game(row: Any, seats: Sequence[Any]) -> GameRecord:
    """The record of a whole row of `games` and its seats, as `arena.league.game_rows` reads them.

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
        tuple([_to_seat(*values) for _, *values in seats]),
        steps,
        frames,
        end_reason,
        trajectory_hash.hex(),
        actions,
        opening_plies,
        bool(greedy),
        pair,
    )


def _to_seat(kind: int, name: str, generation: int, version_start: int, *rest: Any) -> SeatRecord:
    known = None if version_start == UNKNOWN_VERSION else version_start
    return SeatRecord(to_player(kind, name), generation, known, *rest)


@lru_cache(maxsize=1024)
def to_player(kind: int, name: str) -> PlayerRef:
    return PlayerRef(PLAYER_KINDS[kind], name)


def from_row(record: type[R], row: Any, **converted: Any) -> R:
    """A record from the columns of the same names, except for the values that are given here."""
    assert converted.keys() <= record.__dataclass_fields__.keys()
    values = {**row._mapping, **converted}
    return record(**{name: values[name] for name in record.__dataclass_fields__})


def round_values(record: RoundRecord) -> dict[str, Any]:
    values = asdict(record)
    for score in values["scores"]:
        # Where no rule asks for squares, scores are stored as earlier versions stored them.
        score["against"] = [
            {key: value for key, value in part.items() if value is not None}
            for part in score["against"]
        ]
    as_json = ("scores", "hyperparams", "rules", "directive")
    return {**values, **{name: to_json(values[name]) for name in as_json}}


def to_round(row: Any) -> RoundRecord:
    return from_row(
        RoundRecord,
        row,
        scores=to_scores(row.scores),
        hyperparams=json.loads(row.hyperparams),
        rules=json.loads(row.rules),
        directive=to_directive(row.directive),
    )


def certificate_values(record: WiringCertificate) -> dict[str, Any]:
    checks = to_json([asdict(check) for check in record.checks])
    agrees = 0 if record.problems else 1
    return {**asdict(record), "checks": checks, "agrees": agrees}


def to_certificate(row: Any) -> WiringCertificate:
    return from_row(WiringCertificate, row, checks=_CHECKS.decode(row.checks))


_CHECKS = msgspec.json.Decoder(tuple[WiringCheck, ...])
# Scores of earlier versions hold no games by opponent.
_SCORES = msgspec.json.Decoder(tuple[MemberScore, ...])
_DIRECTIVE = msgspec.json.Decoder(Directive)


def to_scores(stored: str) -> tuple[MemberScore, ...]:
    return _SCORES.decode(stored)


def to_directive(stored: str) -> Directive:
    return _DIRECTIVE.decode(stored)


def to_json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON with one spelling for equal values, so that options can be compared as text.

    Raises: ValueError on nan and inf, TypeError on types that JSON does not have.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
