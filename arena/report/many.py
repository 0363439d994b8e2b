"""Lines of many members: the median of all with the middle half, and those with a name. Pure."""

from collections.abc import Mapping, Sequence

import numpy as np

from arena.report.chart import ChartLine, ChartPoint

FEW = 8
GRID = 24
ASIDE = 1.6

Lines = Mapping[str, Sequence[ChartPoint]]
"""Member -> its points, by x."""


def of_members(
    lines: Lines, best: str | None, *, steps: bool = False
) -> tuple[list[ChartLine], list[ChartPoint]]:
    """(lines, band) of the members.

    best   the member whose line is strong where there are many
    steps  a value holds until the next one

    Up to FEW members have a colour each. Of more, the best has its intervals and a colour, the
    worst at the end has a name, the others are grey, and the band is their middle half.
    """
    if len(lines) <= FEW:
        middle = (len(lines) - 1) / 2
        few = [
            ChartLine(
                member,
                points,
                at,
                steps=steps,
                bare=steps,
                aside=ASIDE * (at - middle) * (not steps),
            )
            for at, (member, points) in enumerate(lines.items())
        ]
        return few, []
    if best is None or best not in lines:
        best = max(lines, key=lambda one: lines[one][-1].y)
    worst = min((one for one in lines if one != best), key=lambda one: lines[one][-1].y)
    grey = [
        ChartLine("", _bare(points), steps=steps, bare=True)
        for member, points in lines.items()
        if member not in (best, worst)
    ]
    median, band = _middle(list(lines.values()), steps=steps)
    named = [
        ChartLine(f"lowest now: {worst}", _bare(lines[worst]), 1, steps=steps, bare=True),
        ChartLine(f"median of {len(lines)}; the band is their middle half", median, 7, bare=True),
        ChartLine(f"best: {best}", lines[best], 0, steps=steps, bare=steps),
    ]
    return [*grey, *named], band


def _bare(points: Sequence[ChartPoint]) -> list[ChartPoint]:
    """The points without intervals."""
    return [ChartPoint(one.x, one.y) for one in points]


def _middle(
    lines: Sequence[Sequence[ChartPoint]], *, steps: bool
) -> tuple[list[ChartPoint], list[ChartPoint]]:
    """(median, band) on a grid, where at least half of the members have a value."""
    last = max(points[-1].x for points in lines)
    median, band = [], []
    for x in np.linspace(0, last, GRID + 1):
        values = [value for points in lines if (value := _at(points, x, steps=steps)) is not None]
        if 2 * len(values) < len(lines):
            continue
        low, middle, high = (float(one) for one in np.quantile(values, (0.25, 0.5, 0.75)))
        median.append(ChartPoint(float(x), middle))
        band.append(ChartPoint(float(x), middle, low, high))
    return median, band


def _at(points: Sequence[ChartPoint], x: float, *, steps: bool) -> float | None:
    """The value of a line; None before its first point, and behind the last of a curve."""
    if x < points[0].x or (not steps and x > points[-1].x):
        return None
    if steps:
        return next(one.y for one in reversed(points) if one.x <= x)
    return float(np.interp(x, [one.x for one in points], [one.y for one in points]))
