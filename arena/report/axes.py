"""Axes of charts: which numbers stand beside them, and where values lie. Pure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

STEPS = (1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class ChartAxis:
    """An axis from `low` to `high`.

    place  value -> its place, 0 at the low end and 1 at the high one
    ticks  values that are written beside it
    """

    low: float
    high: float
    place: Callable[[float], float]
    ticks: tuple[float, ...]


def linear(values: Sequence[float], *, most: int = 5) -> ChartAxis:
    """An axis of whole steps around these values. most: number of steps."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (-1.0, 1.0)
    step = _step((high - low) / most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(round(number * step, 12) for number in range(first, last + 1))
    return _between(ticks[0], ticks[-1], ticks)


def upto(most: float) -> ChartAxis:
    """An axis from 0 to this value, such as of frames; the ticks end below it."""
    most = most or 1.0
    step = _step(most / 4)
    return _between(0.0, most, tuple(step * number for number in range(int(most / step) + 1)))


def logarithmic(values: Sequence[float]) -> ChartAxis:
    """An axis of 1, 2, 5, 10, ... around these values, which are above 0."""
    low, high = min(values), max(values)
    every = [
        (exponent, step)
        for exponent in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
        for step in STEPS
    ]
    ticks = [float(f"{step:g}e{exponent}") for exponent, step in every]
    first = max((at for at, tick in enumerate(ticks) if tick <= low), default=0)
    last = min((at for at, tick in enumerate(ticks) if tick >= high), default=len(ticks) - 1)
    if first == last:
        first, last = first - 1, last + 1
    inside = ticks[first : last + 1]
    spare = inside[:: max(1, math.ceil(len(inside) / 6))]
    start, length = math.log(inside[0]), math.log(inside[-1]) - math.log(inside[0])
    return ChartAxis(
        inside[0], inside[-1], lambda value: (math.log(value) - start) / length, tuple(spare)
    )


def _between(low: float, high: float, ticks: tuple[float, ...]) -> ChartAxis:
    return ChartAxis(low, high, lambda value: (value - low) / (high - low), ticks)


def _step(least: float) -> float:
    """The smallest step of 1, 2 or 5 times a power of ten that is at least this long."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((step * power for step in STEPS if step * power >= least * 0.999), 10 * power)
