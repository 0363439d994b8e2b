"""Games whose seats see images, as files of a user's own and for tests of one process.

A bright square jumps to a place that the seed decides; a seat that names its half gets a point.
Each function is a whole game, so `f"{FILE}:parallel"` names one.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv

FILE = __file__
STEPS = 6
AGENTS = ("left", "right")


class _Screen:
    """The picture of a game: [H, W, 3] uint8, written over at every step."""

    def __init__(self, height: int, width: int) -> None:
        self.space = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.picture = np.zeros((height, width, 3), np.uint8)

    def begin(self, seed: int | None) -> None:
        self._rng = np.random.default_rng(seed)
        self.draw()

    def draw(self) -> None:
        height, width, _ = self.picture.shape
        y, x = int(self._rng.integers(height - 4)), int(self._rng.integers(width - 4))
        self.half, self.picture[:] = int(2 * x >= width), 0
        self.picture[y : y + 4, x : x + 4] = self._rng.integers(50, 256, 3)

    def worth(self, action: int) -> float:
        return float(int(action) == self.half)


class _Gym(gymnasium.Env[Any, Any]):
    def __init__(self, height: int, width: int, kind: str) -> None:
        self._screen, self._kind, self.action_space = (
            _Screen(height, width),
            kind,
            spaces.Discrete(2),
        )
        images: dict[str, spaces.Space[Any]] = {
            "last": self._screen.space,
            "first": spaces.Box(0, 255, (3, height, width), np.uint8),
            "grey": spaces.Box(0, 255, (height, width), np.uint8),
            "float": spaces.Box(0.0, 1.0, (height, width, 3), np.float32),
        }
        self.observation_space = spaces.Dict(
            {"image": images[kind], "step": spaces.Discrete(STEPS + 1)}
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self._screen.begin(seed)
        self._step = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        worth = self._screen.worth(action)
        self._screen.draw()
        self._step += 1
        return self._seen(), worth, self._step == STEPS, False, {}

    def _seen(self) -> dict[str, Any]:
        picture = self._screen.picture
        image = {
            "last": picture,
            "first": picture.transpose(2, 0, 1),
            "grey": picture[:, :, 0],
            "float": (picture / 255).astype(np.float32),
        }[self._kind]
        return {"image": image, "step": self._step}


class _Parallel(ParallelEnv[str, Any, Any]):  # type: ignore[misc]
    metadata = {"name": "squares"}
    possible_agents = list(AGENTS)

    def __init__(self, height: int, width: int) -> None:
        self._screen = _Screen(height, width)

    def observation_space(self, agent: str) -> spaces.Box:
        return self._screen.space

    def action_space(self, agent: str) -> spaces.Discrete:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self._screen.begin(seed)
        self.agents, self._step = list(AGENTS), 0
        return dict.fromkeys(AGENTS, self._screen.picture), {agent: {} for agent in AGENTS}

    def step(self, actions: dict[str, Any]) -> Any:
        worth = [self._screen.worth(actions[agent]) for agent in AGENTS]
        self._screen.draw()
        self._step += 1
        over = self._step == STEPS
        self.agents = [] if over else self.agents
        gains = {"left": worth[0] - worth[1], "right": worth[1] - worth[0]}
        seen = dict.fromkeys(AGENTS, self._screen.picture)
        ends, cuts = dict.fromkeys(AGENTS, over), dict.fromkeys(AGENTS, False)
        return seen, gains, ends, cuts, {agent: {} for agent in AGENTS}


class _Turns(AECEnv[str, Any, Any]):  # type: ignore[misc]
    metadata = {"name": "squares in turn"}

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self._screen, self.possible_agents = _Screen(height, width), list(AGENTS)

    def observation_space(self, agent: str) -> spaces.Box:
        return self._screen.space

    def action_space(self, agent: str) -> spaces.Discrete:
        return spaces.Discrete(2)

    def observe(self, agent: str) -> NDArray[np.uint8]:
        return self._screen.picture

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self._screen.begin(seed)
        self.agents, self._step, self.agent_selection = list(AGENTS), 0, AGENTS[0]
        self.rewards, self._cumulative_rewards = (dict.fromkeys(AGENTS, 0.0) for _ in range(2))
        self.terminations, self.truncations = (dict.fromkeys(AGENTS, False) for _ in range(2))
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        other = AGENTS[1 - AGENTS.index(agent)]
        worth = self._screen.worth(action)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = {agent: worth, other: -worth}
        self._screen.draw()
        self._step += 1
        if self._step == STEPS:
            self.terminations = dict.fromkeys(AGENTS, True)
        self.agent_selection = other
        self._accumulate_rewards()


def parallel(height: int = 280, width: int = 480) -> Any:
    return _Parallel(height, width)


def turns(height: int = 40, width: int = 60) -> Any:
    return _Turns(height, width)


def gym(height: int = 40, width: int = 60, kind: str = "last") -> Any:
    return _Gym(height, width, kind)
