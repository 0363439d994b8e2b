"""Newton's method where the curvature that it is given is only about the true one."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from arena.stats.newton import maximum
from pbt.errors import EngineError

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Bowl:
    """-level - sum(steepness x^2) / 2, which tells `told` times its steepness."""

    values: Vector
    steepness: Vector
    told: float
    level: float

    @property
    def value(self) -> float:
        return float(-self.level - self.steepness @ self.values**2 / 2)

    @property
    def gradient(self) -> Vector:
        return -self.steepness * self.values

    @property
    def curvature(self) -> Vector:
        return np.diag(self.told * self.steepness)


@pytest.mark.parametrize("told", [0.2, 0.45, 0.55, 1.0, 3.0])
@pytest.mark.parametrize("level", [0.0, 1e3, 1e7])
def test_it_converges_where_steps_are_too_long_or_too_short(told: float, level: float) -> None:
    steepness = np.array([1e-2, 1.0, 30.0])
    start = np.array([2.0, -3.0, 1.0])
    best = maximum(lambda x: Bowl(x, steepness, told, level), start, "what is needed")
    assert np.abs(best.values).max() < 1e-6


def test_what_has_no_maximum_is_told() -> None:
    with pytest.raises(EngineError, match="2 parameters did not converge; .* needs a win"):
        maximum(lambda x: Bowl(x, np.array([-1.0, 1.0]), 1.0, 0.0), np.ones(2), "a win")
