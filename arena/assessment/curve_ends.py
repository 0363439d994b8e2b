"""The first and the newest points of training curves, without reading what lies between."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from arena.data.metrics import METRICS_FILE

HEAD_BYTES = 1 << 17
TAIL_BYTES = 1 << 18
"""About 600 points: ten of each of 64 members."""
POINTS = 10


class _CurvePoint(msgspec.Struct):
    """What is read of one point."""

    member: str
    frames: int
    t: float
    incarnation: int
    entropy: float | None = None


_decode = msgspec.json.Decoder(_CurvePoint).decode


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
    first = _points(head.splitlines(keepends=True))
    lines = tail.splitlines(keepends=True)
    newest = _points(lines if size <= TAIL_BYTES else lines[1:])
    return {
        member: CurveEnds(
            _entropy(first.get(member, [])[:POINTS]),
            _entropy(newest.get(member, [])[-POINTS:]),
            _speed(newest.get(member, [])[-POINTS:]),
        )
        for member in first.keys() | newest.keys()
    }


def _points(lines: Iterable[bytes]) -> dict[str, list[_CurvePoint]]:
    """Member -> its points, of the whole lines that are points.

    A damaged line is left to the readers of the whole file.
    """
    found: dict[str, list[_CurvePoint]] = defaultdict(list)
    for line in lines:
        if line.endswith(b"\n"):
            with suppress(msgspec.DecodeError):
                point = _decode(line)
                found[point.member].append(point)
    return found


def _entropy(points: list[_CurvePoint]) -> float | None:
    """The median over these points, None where none has one."""
    values = [point.entropy for point in points if point.entropy is not None]
    return median(values) if values else None


def _speed(points: list[_CurvePoint]) -> float | None:
    """Frames by seconds, over the points of the newest start of its trainer."""
    own = [point for point in points if point.incarnation == points[-1].incarnation]
    if len(own) < 2:
        return None
    frames, seconds = own[-1].frames - own[0].frames, own[-1].t - own[0].t
    return frames / seconds if frames > 0 and seconds > 0 else None
