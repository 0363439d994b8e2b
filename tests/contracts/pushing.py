"""A small game of two whose actions may be of any kind; what is said to the bit decides."""

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

STEPS = 6
KINDS: dict[str, spaces.Space[Any]] = {
    "discrete": spaces.Discrete(3),
    "multi-discrete": spaces.MultiDiscrete([3, 4]),
    "multi-binary": spaces.MultiBinary(3),
    "box": spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, np.inf]), dtype=np.float32),
    "mixed": spaces.Dict(
        {"push": spaces.Box(-1.0, 1.0, (2,)), "gear": spaces.Discrete(3, start=1)}
    ),
}


class Pushing(ParallelEnv[str, Any, Any]):
    """Both say something of the action space at once; each is paid by all bits of what it says.

    masked  the first alternative of the first choice is illegal in every second step
    """

    metadata = {"name": "pushing"}
    possible_agents = ["left", "right"]

    def __init__(self, kind: str, *, masked: bool) -> None:
        self._space = KINDS[kind]
        self._masks = 0
        if masked:
            choices = {"discrete": 3, "multi-discrete": 7, "multi-binary": 6, "mixed": 3}
            self._masks = choices[kind]

    def observation_space(self, agent: str) -> spaces.Box:
        return spaces.Box(-1.0, 1.0, (2,))

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self._space

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self._rng, self.agents, self._left = (
            np.random.default_rng(seed),
            [*self.possible_agents],
            STEPS,
        )
        return self._seen(), self._infos()

    def step(self, actions: Any) -> Any:
        assert all(self._space.contains(action) for action in actions.values()), actions
        worth = {agent: self._worth(action) for agent, action in actions.items()}
        self._left -= 1
        over = self._left == 0
        seen, infos = self._seen(), self._infos()
        if over:
            self.agents = []
        ends = dict.fromkeys(self.possible_agents, over)
        return seen, worth, ends, dict.fromkeys(self.possible_agents, False), infos

    def _worth(self, action: Any) -> float:
        flat = np.asarray(spaces.flatten(self._space, action), np.float64)
        return float(np.tanh(flat @ np.sin(np.arange(1, flat.size + 1) + self._shown[0])))

    def _seen(self) -> Any:
        self._shown = self._rng.uniform(-1.0, 1.0, 2).astype(np.float32)
        return dict.fromkeys(self.possible_agents, self._shown)

    def _infos(self) -> Any:
        if not self._masks:
            return {agent: {} for agent in self.possible_agents}
        mask = np.ones(self._masks, np.bool_)
        mask[0] = self._left % 2 == 0
        return {agent: {"action_mask": mask} for agent in self.possible_agents}


def make(kind: str = "discrete", masked: bool = False) -> Pushing:
    return Pushing(kind, masked=masked)
