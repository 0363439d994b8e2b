"""Trains Sample Factory 2 on a scenario of MPE2, as a multi-agent environment.

    sf/bin/python -P bench/sample_factory_mpe.py --env=simple_push --algo=APPO ...

The python is that of an environment with both packages; bench/light.py starts it. Without -P,
`import sample_factory` would find the module of this folder.

The environment follows Sample Factory's example for several agents
(sf_examples/train_custom_multi_env.py): lists have an entry for each agent, one policy plays all
agents, and a new game starts by itself. A policy has one observation space, so vectors are filled
with zeros up to the longest; ours does the same with env.options.one_role. --env=simple_push is
mpe2's raw_env behind PettingZoo's converter (ours has one of its own), without wrappers that check
for errors a policy never makes; --env=simple_push_parallel_env is mpe2's own, with those wrappers.
"""

import sys
from importlib import import_module
from typing import Any

import gymnasium
import numpy as np
from pettingzoo.utils.conversions import aec_to_parallel
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.train import run_rl

SCENARIOS = {"simple_push": "mpe2.simple_push_v3"}
CHECKED = "_parallel_env"


class Mpe(gymnasium.Env):
    """A scenario with one list entry for each agent; observations are [longest] float32."""

    is_multiagent = True

    def __init__(self, scenario: str) -> None:
        module = import_module(SCENARIOS[scenario.removesuffix(CHECKED)])
        shipped = scenario.endswith(CHECKED)
        self._env = module.parallel_env() if shipped else aec_to_parallel(module.raw_env())
        self._agents = list(self._env.possible_agents)
        self.num_agents = len(self._agents)
        self.render_mode = None
        self._length = max(self._env.observation_space(agent).shape[0] for agent in self._agents)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (self._length,), np.float32)
        self.action_space = self._env.action_space(self._agents[0])

    def reset(
        self, *, seed: int | None = None, options: Any = None
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        observations, _ = self._env.reset(seed=seed)
        return self._filled(observations), [{} for _ in self._agents]

    def step(
        self, actions: Any
    ) -> tuple[list[Any], list[float], list[bool], list[bool], list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, _ = self._env.step(
            {agent: int(action) for agent, action in zip(self._agents, actions, strict=True)}
        )
        if not self._env.agents:
            observations, _ = self._env.reset()
        outcomes = (
            [float(rewards[agent]) for agent in self._agents],
            [terminated[a] for a in self._agents],
            [truncated[a] for a in self._agents],
        )
        return self._filled(observations), *outcomes, [{} for _ in self._agents]

    def render(self) -> None:
        """Does nothing; Sample Factory requires the method."""

    def _filled(self, observations: Any) -> list[Any]:
        """Observations of all agents, filled with zeros to the same length."""
        rows = []
        for agent in self._agents:
            row = np.zeros(self._length, np.float32)
            row[: len(observations[agent])] = observations[agent]
            rows.append(row)
        return rows


def make(
    scenario: str, cfg: Any = None, env_config: Any = None, render_mode: str | None = None
) -> Mpe:
    return Mpe(scenario)


def main() -> int:
    for scenario in SCENARIOS:
        register_env(scenario, make)
        register_env(scenario + CHECKED, make)
    parser, _ = parse_sf_args()
    return int(run_rl(parse_full_cfg(parser)))


if __name__ == "__main__":
    sys.exit(main())
