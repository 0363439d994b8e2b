"""A game of one seat whose steps only take time: each sleeps for as long as a Gamma law draws.

A shape of 0 stands for steps that all take as long. In place of the law there may be a file of step
times that were recorded from a game (bench/football_steps.py). `every` lets only every so many
steps sleep, from the first one on. Where SLEEPING_GAME_NOTES names a file, each sleep adds a line
with its seconds.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

STEPS = 10_000
NOTES = "SLEEPING_GAME_NOTES"


def recorded(path: str | Path) -> NDArray[np.float64]:
    """Step times of a game, as shares of their mean."""
    steps = np.array(json.loads(Path(path).read_text())["steps_ms"])
    return steps / steps.mean()


class Sleeping(gymnasium.Env[Any, Any]):
    """Steps of `mean_ms` on average, by the game's seed."""

    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, mean_ms: float, shape: float, times: str, every: int) -> None:
        self._mean_s, self._shape, self._every = mean_ms / 1000.0, shape, every
        self._steps = recorded(times) if times else None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self._rng, self._left = np.random.default_rng(seed), STEPS
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._mean_s and (STEPS - self._left) % self._every == 0:
            seconds = self._drawn() * self._mean_s
            if NOTES in os.environ:
                with open(os.environ[NOTES], "a") as file:
                    file.write(f"{seconds}\n")
            time.sleep(seconds)
        self._left -= 1
        return np.zeros(1, np.float32), 0.0, self._left == 0, False, {}

    def _drawn(self) -> float:
        """How long this step takes, as a share of the mean."""
        if self._steps is not None:
            return float(self._rng.choice(self._steps))
        return self._rng.gamma(self._shape) / self._shape if self._shape else 1.0


def make(mean_ms: float = 40.0, shape: float = 1.0, times: str = "", every: int = 1) -> Sleeping:
    return Sleeping(mean_ms, shape, times, every)
