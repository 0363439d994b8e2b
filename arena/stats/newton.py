"""The maximum of a log-likelihood, by Newton's method with steps that gain.

The curvature may be only about the true one. Then the steps of Newton's method become smaller and
smaller long before the maximum, or lead to and fro around it: most players of a league with few
games are such a case. So each direction is conjugate to the one before (Polak and Ribiere 1969,
with the curvature as preconditioner), and a secant finds how far it leads. Where the curvature is
the true one both change nothing.
"""

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from pbt.errors import EngineError

_TOLERANCE, _DECREMENT, _STEPS, _LONGEST_STEP = 1e-10, 1e-16, 300, 5.0


class Evaluated(Protocol):
    """A log-likelihood at some parameters.

    values     [k] the parameters
    value      the log-likelihood, -inf where it cannot be computed
    gradient   [k] its gradient
    curvature  [k, k] positive definite; its negative Hessian, or a matrix close to it. The maximum
               does not depend on it, the number of steps does
    """

    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def value(self) -> float: ...
    @property
    def gradient(self) -> NDArray[np.float64]: ...
    @property
    def curvature(self) -> NDArray[np.float64]: ...


Q = TypeVar("Q", bound=Evaluated)


def maximum(at: Callable[[NDArray[np.float64]], Q], start: NDArray[np.float64], needed: str) -> Q:
    """The point with the largest log-likelihood.

    at      evaluates the log-likelihood
    start   [k] parameters to begin with
    needed  what every player needs without a prior, for the error
    Raises: EngineError when the fit does not converge.
    """
    point, along = at(start), _Conjugate()
    for _ in range(_STEPS if math.isfinite(point.value) else 0):
        if not len(start):
            return point
        try:
            step = cho_solve(cho_factor(point.curvature), point.gradient)
        except np.linalg.LinAlgError:
            break
        # With many games, rounding keeps the steps of parameters with little evidence from getting
        # small. The fit therefore also ends when a step no longer gains likelihood.
        if np.max(np.abs(step)) < _TOLERANCE or float(point.gradient @ step) < _DECREMENT:
            return point
        point = _gained(at, point, along.turned(step, point.gradient))
        if not math.isfinite(point.value):
            break
    raise EngineError(
        f"a fit of {len(start)} parameters did not converge; without a prior every player needs "
        f"{needed}"
    )


class _Conjugate:
    """Turns each step by the one before."""

    def __init__(self) -> None:
        self._before: tuple[NDArray[np.float64], NDArray[np.float64], float] | None = None

    def turned(
        self, step: NDArray[np.float64], gradient: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The direction to go. step, gradient: [k] at the point that was reached."""
        direction = step
        if self._before is not None:
            last_direction, last_gradient, last_gain = self._before
            share = max(0.0, float(step @ (gradient - last_gradient)) / last_gain)
            turned = step + share * last_direction
            direction = turned if float(turned @ gradient) > 0 else step
        self._before = direction, gradient, float(gradient @ step)
        return direction


def _gained(at: Callable[[NDArray[np.float64]], Q], point: Q, step: NDArray[np.float64]) -> Q:
    """The point after the longest of step, step / 2, step / 4, ... that gains.

    Where the slope along the step is far from 0 there, it is the point where a secant finds 0.
    """
    # Where the likelihood is almost flat, a full step goes too far for halving to bring it back.
    step = shortened(step)
    scale, least = 1.0, point.value - 1e-9 * abs(point.value)
    # "not >=" also halves a step to a likelihood that is nan.
    while not (tried := at(point.values + scale * step)).value >= least and scale > 1e-6:
        scale /= 2
    before, after = float(point.gradient @ step), float(tried.gradient @ step)
    if abs(after) <= before / 2 or not before > after:
        return tried
    straight = at(point.values + shortened(scale * before / (before - after) * step))
    return straight if straight.value >= tried.value else tried


def shortened(step: NDArray[np.float64]) -> NDArray[np.float64]:
    """The step, or the part of it that moves no parameter by more than 5."""
    return step * min(1.0, _LONGEST_STEP / max(float(np.max(np.abs(step))), 1e-300))
