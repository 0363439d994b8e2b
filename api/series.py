"""Long curves made short enough to draw, without losing a spike. Pure."""

from collections.abc import Sequence

Point = tuple[int, float | None]


def decimate(points: Sequence[Point], count: int) -> list[Point]:
    """At most `count` of the points, in their order: the first, the last, and of each stretch between them its lowest and its highest.

    A gap (None) stands for its stretch where nothing else is there. count: 4 or more.
    """
    if len(points) <= count:
        return list(points)
    inner = points[1:-1]
    stretches = max(1, (count - 2) // 2)
    kept: list[Point] = [points[0]]
    for number in range(stretches):
        stretch = inner[number * len(inner) // stretches : (number + 1) * len(inner) // stretches]
        known = [(value, place) for place, (_, value) in enumerate(stretch) if value is not None]
        places = sorted({min(known)[1], max(known)[1]}) if known else [0] if stretch else []
        kept += [stretch[place] for place in places]
    return [*kept, points[-1]]
