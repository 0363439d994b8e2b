"""Numbers of an action: what a network says lies around 0, and the game takes it in its own unit.

A number between two bounds is scaled: -1 stands for the lower one and 1 for the upper one, and what
lies outside is clipped when the game takes it. A number without two bounds is taken as it is.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

UNBOUNDED = 1e9
"""A bound as large as this is none: some games write the largest float where they mean infinity."""
_NORMAL = NormalDist()
_LEAST_UNIFORM = 2.0**-54


@dataclass(frozen=True)
class NumberBounds:
    """The bounds of one number, in the game's unit; infinite where there is none."""

    low: float
    high: float

    def __str__(self) -> str:
        if math.isinf(self.low) and math.isinf(self.high):
            return "any number"
        if math.isinf(self.high):
            return f"a number of at least {self.low:g}"
        if math.isinf(self.low):
            return f"a number of at most {self.high:g}"
        return f"a number from {self.low:g} to {self.high:g}"

    @property
    def scaled(self) -> bool:
        """Whether an action holds it as a number from -1 to 1."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def middle(self) -> float:
        """The number for which 0 stands in an action."""
        return (self.low + self.high) / 2.0 if self.scaled else 0.0

    @property
    def unit(self) -> float:
        """By how much the number grows while the action's grows by 1."""
        return (self.high - self.low) / 2.0 if self.scaled else 1.0

    def holds(self, number: float) -> bool:
        """Whether the number, in the game's unit, lies between the bounds and in float32."""
        largest = float(np.finfo(np.float32).max)
        return max(self.low, -largest) <= number <= min(self.high, largest)

    def part(self, number: float) -> float:
        """A number in the game's unit as an action holds it, in float32."""
        return float(np.float32((number - self.middle) / self.unit if self.unit else 0.0))

    def random(self, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers as actions hold them, [N]: uniform between the bounds, else standard normal.

        uniforms  [N] in [0, 1)
        """
        if self.scaled:
            return 2.0 * uniforms - 1.0
        likely = np.clip(uniforms, _LEAST_UNIFORM, 1.0 - 2.0**-53)
        return np.array([_NORMAL.inv_cdf(one) for one in likely.tolist()])


def box_numbers(
    space: spaces.Box,
) -> tuple[tuple[NumberBounds, ...], Callable[[Iterator[float]], Any]]:
    """(bounds of every number, builder) of a box. Where the game takes integers, it rounds."""
    low, high = (bound.astype(np.float64).reshape(-1) for bound in (space.low, space.high))
    low[low <= -UNBOUNDED], high[high >= UNBOUNDED] = -np.inf, np.inf
    numbers = tuple(NumberBounds(*pair) for pair in zip(low.tolist(), high.tolist(), strict=True))
    middle, unit = np.array([(one.middle, one.unit) for one in numbers]).reshape(-1, 2).T
    count, shape, dtype = len(numbers), space.shape, np.dtype(space.dtype)
    whole = dtype.kind in "iu"

    def build(entries: Iterator[float]) -> NDArray[Any]:
        own = np.array([next(entries) for _ in range(count)])
        own = np.minimum(np.maximum(middle + unit * own, low), high)
        made: NDArray[Any] = (np.rint(own) if whole else own).astype(dtype).reshape(shape)
        return made

    return numbers, build
