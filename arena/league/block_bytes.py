"""The bytes of a block: training games in columns, packed into one value of the league.

They are

    u8 1 | u32 size | zlib, level 1, of `size` bytes: head, columns, actions | seeds | hashes

where the head is a u32 length and JSON:

    games    number of games
    seats    number of seats
    first    number of the first game
    columns  [name, form, base] of every column of numbers, in the order of their bytes: those of
             games, those of seats game by game, then the floats of seats
    reasons  the words why games ended, each once; a game's `reason` is a place among them
    players  ids of the players, each once; a seat's `player` is a place among them

`number` holds the step from the game before, `seated` the number of seats, `hash_bytes` and
`action_bytes` lengths, -1 for no actions. The forms of columns are

    "0", "1", "2", "4"  each number is `base` more than an unsigned one of so many bytes; with "0"
                        there are no bytes
    "8"                 signed integers of 8 bytes
    "f"                 floats of 8 bytes

Floats that are all whole numbers are stored as those. Numbers are little-endian, and their bytes
stand apart: all lowest ones, then all next ones. None is the least integer, a nan of points, and -1
of `version_start`. What no compression makes smaller, the bytes of `seed` and the hashes, stands
behind the rest as it is.
"""

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.league.blocks import BLOCK_GAMES, BlockColumns, Floats, Ints
from pbt.errors import EngineError, PbtError

VERSION = 1
MOST_BYTES, MOST_SEATS = 1 << 28, 1 << 22
"""Most bytes of the compressed part, and seats, so that a forged block cannot fill the memory."""

_START, _LENGTH = struct.Struct("<BI"), struct.Struct("<I")
_OF_GAMES = (
    "environment", "count", "number", "seed", "steps", "frames", "greedy", "opening_plies",
    "pair", "reason", "seated", "hash_bytes", "action_bytes",
)  # fmt: skip
_OF_SEATS = ("generation", "version_start", "version_end", "place", "player")
_FLOATS = ("returns", "points")
_APART = "seed"
_UNREADABLE = (ValueError, KeyError, TypeError, IndexError, OverflowError, struct.error, zlib.error)


class BlockError(PbtError):
    """The bytes of a block cannot be read."""


def pack(block: BlockColumns) -> bytes:
    """The bytes of a block. Raises: EngineError for more than MOST_BYTES or MOST_SEATS."""
    numbers = block.numbers
    columns: dict[str, NDArray[Any]] = {
        **block.games,
        "number": np.diff(numbers, prepend=numbers[0]),
        "hash_bytes": _lengths(block.hashes),
        "action_bytes": _lengths(block.actions or [None] * len(numbers)),
        **block.seats,
        "returns": block.returns,
        "points": block.points,
    }
    forms, bodies, apart = [], [], b""
    for name in (*_OF_GAMES, *_OF_SEATS, *_FLOATS):
        form, base, body = _packed(columns[name])
        forms.append([name, form, base])
        if name == _APART:
            apart = body
        else:
            bodies.append(body)
    head = json.dumps(
        {
            "games": len(numbers),
            "seats": len(block.returns),
            "first": int(numbers[0]),
            "columns": forms,
            "reasons": list(block.reasons),
            "players": list(block.players),
        },
        separators=(",", ":"),
    ).encode()
    actions = [one for one in block.actions if one is not None]
    content = b"".join((_LENGTH.pack(len(head)), head, *bodies, *actions))
    if len(content) > MOST_BYTES or len(block.returns) > MOST_SEATS:
        raise EngineError(
            f"{len(numbers)} training games from number {numbers[0]} on have {len(block.returns)} "
            f"seats and take {len(content)} bytes; expected at most {MOST_SEATS}, {MOST_BYTES}"
        )
    packed = zlib.compress(content, 1)
    return b"".join((_START.pack(VERSION, len(packed)), packed, apart, *block.hashes))


def _lengths(values: Sequence[bytes | None]) -> Ints:
    if values[0] is None and values.count(None) == len(values):
        return np.full(len(values), -1)
    return np.array([-1 if value is None else len(value) for value in values], np.int64)


def _packed(values: NDArray[Any]) -> tuple[str, int, bytes]:
    """(form, base, bytes) of a column."""
    if values.dtype == np.float64:
        if (whole := _whole(values)) is None:
            return "f", 0, _apart(values, "<f8")
        values = whole
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if low == high:
        return "0", low, b""
    for width in (1, 2, 4):
        if high - low < 1 << 8 * width:
            return str(width), low, _apart(values - low, f"<u{width}")
    return "8", 0, _apart(values, "<i8")


def _whole(values: Floats) -> Ints | None:
    """The same numbers as integers, None where that would change a bit."""
    with np.errstate(invalid="ignore"):
        whole = values.astype(np.int64)
    same = whole.astype(np.float64).view(np.int64) == values.view(np.int64)
    return whole if bool(same.all()) and bool((np.abs(whole) < 1 << 31).all()) else None


def _apart(values: NDArray[Any], form: str) -> bytes:
    """The bytes of numbers, all lowest ones first."""
    narrow = values.astype(form)
    return narrow.view(np.uint8).reshape(len(narrow), narrow.itemsize).T.tobytes()


def unpack(packed: bytes) -> BlockColumns:
    """The games of a block. Raises: BlockError for bytes that `pack` cannot have made."""
    try:
        return _unpack(packed)
    except _UNREADABLE as error:
        raise BlockError(f"a block that cannot be read: {type(error).__name__}: {error}") from error


def _unpack(packed: bytes) -> BlockColumns:
    version, size = _START.unpack_from(packed)
    if version != VERSION:
        raise ValueError(f"version {version}, expected {VERSION}")
    end = _START.size + size
    whole = zlib.decompressobj()
    content = whole.decompress(packed[_START.size : end], MOST_BYTES)
    if not whole.eof or whole.unused_data:
        raise ValueError("its compressed part does not end where it should")
    (length,) = _LENGTH.unpack_from(content)
    inner = _Bytes(content, _LENGTH.size)
    head = json.loads(inner.take(length))
    if not (1 <= head["games"] <= BLOCK_GAMES and 0 <= head["seats"] <= MOST_SEATS):
        raise ValueError(f"{head['games']} games of {head['seats']} seats")
    reasons, players = head["reasons"], head["players"]
    if not (_listed(reasons, str) and _listed(players, int)):
        raise ValueError("reasons that are no words, or players that are no numbers")
    behind = _Bytes(packed, end)
    columns = dict(_columns(head, inner, behind))
    hashes = list(behind.parts(columns.pop("hash_bytes")))
    lengths = columns.pop("action_bytes")
    actions = list(inner.parts(lengths)) if (lengths >= 0).any() else []
    inner.end()
    behind.end()
    block = BlockColumns(
        {name: columns[name] for name in columns if name in _OF_GAMES},
        {name: columns[name] for name in _OF_SEATS},
        columns["returns"].astype(np.float64),
        columns["points"].astype(np.float64),
        reasons,
        players,
        [one or b"" for one in hashes],
        actions,
    )
    _refuse_impossible(block)
    return block


def _columns(
    head: Mapping[str, Any], inner: "_Bytes", behind: "_Bytes"
) -> Iterator[tuple[str, NDArray[Any]]]:
    names = [name for name, _, _ in head["columns"]]
    if names != [*_OF_GAMES, *_OF_SEATS, *_FLOATS]:
        raise ValueError(f"columns {names}")
    for name, form, base in head["columns"]:
        rows = head["games"] if name in _OF_GAMES else head["seats"]
        values = (behind if name == _APART else inner).numbers(form, base, rows)
        yield name, np.cumsum(values) + head["first"] if name == "number" else values


def _refuse_impossible(block: BlockColumns) -> None:
    """Raises: ValueError for places that name nothing and games that do not ascend."""
    games, seats, numbers = block.games, block.seats, block.numbers
    whole = (
        (len(numbers) == 1 or int(np.diff(numbers).min()) > 0)
        and int(games["seated"].min()) >= 0
        and int(games["seated"].sum()) == len(block.returns)
        and _within(games["reason"], block.reasons)
        and _within(seats["player"], block.players)
    )
    if not whole:
        raise ValueError("columns that contradict each other")


def _listed(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(type(one) is kind for one in values)


def _within(places: Ints, of: Sequence[Any]) -> bool:
    return len(places) == 0 or (int(places.min()) >= 0 and int(places.max()) < len(of))


class _Bytes:
    """Bytes that are taken one part after the other. Raises: ValueError where there are too few."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at

    def take(self, size: int) -> bytes:
        part = self._content[self._at : self._at + size]
        if len(part) != size:
            raise ValueError(f"{len(part)} bytes where {size} were expected")
        self._at += size
        return part

    def numbers(self, form: str, base: int, rows: int) -> NDArray[Any]:
        if form == "0":
            return np.full(rows, base, np.int64)
        narrow = {"8": "<i8", "f": "<f8"}.get(form, f"<u{form}")
        width = np.dtype(narrow).itemsize
        planes = np.frombuffer(self.take(rows * width), np.uint8).reshape(width, rows)
        values = np.ascontiguousarray(planes.T).view(narrow)[:, 0]
        return values.astype(np.float64) if form == "f" else values.astype(np.int64) + base

    def parts(self, lengths: Ints) -> Iterator[bytes | None]:
        """The parts of these lengths, None for -1."""
        content, size = self.take(int(lengths.clip(0).sum())), int(lengths[0])
        if size > 0 and bool((lengths == size).all()):
            yield from (content[at : at + size] for at in range(0, len(content), size))
            return
        ends = accumulate(lengths.clip(0).tolist(), initial=0)
        for length, (first, end) in zip(lengths.tolist(), pairwise(ends), strict=True):
            yield None if length < 0 else content[first:end]

    def end(self) -> None:
        if self._at != len(self._content):
            raise ValueError(f"{len(self._content) - self._at} bytes too many")
