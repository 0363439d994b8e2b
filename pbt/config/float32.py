"""Checks that the numbers of a config are numbers in float32, in which networks compute."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

LARGEST = (2 - 2**-23) * 2.0**127
_OVERFLOWS = (2 - 2**-24) * 2.0**127
SMALLEST = 2.0**-126
"""The smallest normal number: what is smaller loses digits, or becomes 0."""

LEAST_FLOAT = 2.0**-1074
"""Python's smallest number above 0."""

# The options belong to the game, which says itself what it takes.
_NOT_OURS = ("env.options",)


def nonzero_float(text: str) -> float:
    """The number, which is not 0 unless the text says so: `float32_problems` must see it."""
    number, digits = float(text), text.lower().partition("e")[0]
    if number == 0.0 and digits.strip("+-0._"):
        return math.copysign(LEAST_FLOAT, number)
    return number


def float32_problems(config: BaseModel) -> list[str]:
    """One line for each number that is infinite, 0 or imprecise as a float32 without being so."""
    return [
        f"{place} = {_shown(number)}: {problem}"
        for place, number in _numbers(config, "")
        if (problem := float32_problem(number))
    ]


def float32_problem(number: float) -> str | None:
    """What is wrong with a number as a float32, and what was expected; None: nothing."""
    if math.isnan(number) or abs(number) >= _OVERFLOWS:
        return f"as a float32 it is not finite; must be at most {LARGEST:.7g} in magnitude"
    if 0.0 < abs(number) < SMALLEST:
        zero = abs(number) <= 2.0**-150
        becomes = "as a float32 it is 0" if zero else "as a float32 it loses digits"
        return f"{becomes}; must be 0, or at least {SMALLEST:.7g} in magnitude"
    return None


def _shown(number: float) -> str:
    return f"{number!r} or closer to 0" if abs(number) == LEAST_FLOAT else repr(number)


def _numbers(value: Any, place: str) -> Iterator[tuple[str, float]]:
    """(dotted key, number) of every float below a value of a config."""
    if place in _NOT_OURS:
        return
    if isinstance(value, float):
        yield place, value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _numbers(getattr(value, name), f"{place}.{name}".lstrip("."))
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _numbers(inner, f"{place}.{name}")
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            yield from _numbers(inner, f"{place}[{index}]")
