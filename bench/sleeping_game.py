"""A game of one seat whose steps only take time: each sleeps for as long as a Gamma law draws."""

import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

STEPS = 10_000


class Sleeping(gymnasium.Env[Any, Any]):
    """Steps of `mean_ms` on average, with the shape of a Gamma law; by the seed of the game."""

    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, mean_ms: float, shape: float) -> None:
        self._scale_s, self._shape = mean_ms / 1000.0 / shape, shape

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self._rng, self._left = np.random.default_rng(seed), STEPS
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._scale_s:
            time.sleep(self._rng.gamma(self._shape) * self._scale_s)
        self._left -= 1
        return np.zeros(1, np.float32), 0.0, self._left == 0, False, {}


def make(mean_ms: float = 40.0, shape: float = 1.0) -> Sleeping:
    return Sleeping(mean_ms, shape)
