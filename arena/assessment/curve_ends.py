"""The first and the newest points of training curves, without reading what lies between."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from arena.data.metrics import METRICS_FILE

HEAD_BYTES = 1 << 17
TAIL_BYTES = 1 << 18
"""About 600 points: ten of each of 64 members."""
POINTS = 10

_decode = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, slots=True)
class CurveEnds:
    """What the ends of a member's curves show; None where they do not.

    first_entropy  entropy of the policy in the first points, in nats
    entropy        entropy of the policy in the newest points, in nats
    frames_per_s   frames by time over the newest points
    """

    first_entropy: float | None
    entropy: float | None
    frames_per_s: float | None


def read_curve_ends(folder: Path) -> dict[str, CurveEnds]:
    """Member -> the ends of its curves; empty where there are none.

    folder  of a population's metrics
    """
    try:
        with (folder / METRICS_FILE).open("rb") as file:
            head = file.read(HEAD_BYTES)
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            tail = file.read(TAIL_BYTES)
    except FileNotFoundError:
        return {}
    first = _by_member(_rows(head.splitlines(keepends=True)))
    lines = tail.splitlines(keepends=True)
    newest = _by_member(_rows(lines if size <= TAIL_BYTES else lines[1:]))
    return {
        member: CurveEnds(
            _entropy(first.get(member, [])[:POINTS]),
            _entropy(newest.get(member, [])[-POINTS:]),
            _speed(newest.get(member, [])[-POINTS:]),
        )
        for member in first.keys() | newest.keys()
    }


def _rows(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The whole lines that are points; a damaged line is left to readers of the whole file."""
    for line in lines:
        if line.endswith(b"\n"):
            try:
                row = _decode(line)
            except msgspec.DecodeError:
                continue
            if "member" in row:
                yield row


def _by_member(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["member"]].append(row)
    return found


def _entropy(rows: list[dict[str, Any]]) -> float | None:
    """The median over these points, None where none has one."""
    values = [row["entropy"] for row in rows if row.get("entropy") is not None]
    return float(median(values)) if values else None


def _speed(rows: list[dict[str, Any]]) -> float | None:
    """Frames by seconds, over the points of the newest start of its trainer."""
    own = [row for row in rows if row["incarnation"] == rows[-1]["incarnation"]]
    if len(own) < 2:
        return None
    frames, seconds = own[-1]["frames"] - own[0]["frames"], own[-1]["t"] - own[0]["t"]
    return float(frames / seconds) if frames > 0 and seconds > 0 else None
