"""A scenario of MPE2 as a multi-agent environment of Sample Factory 2; run by the python that has
both, see bench/light.py.

    sf/bin/python -P bench/sample_factory_mpe.py --env=simple_push --algo=APPO ...     # without -P,
    `import sample_factory` finds this folder's

As its documentation asks of environments with several agents
(sf_examples/train_custom_multi_env.py): lists with an entry for each agent, all of them played by
one policy, and a new game starts by itself. A policy has one observation space, so vectors are
filled with zeros up to the longest; ours does the same with env.options.one_role. --env=simple_push
is mpe2's raw_env behind PettingZoo's converter (ours has one of its own), without the wrappers that
check what a policy of either system never does; --env=simple_push_parallel_env is what mpe2 ships,
with them.
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
    """Observations: [longest] float32 for each agent."""

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
        seen, _ = self._env.reset(seed=seed)
        return self._filled(seen), [{} for _ in self._agents]

    def step(
        self, actions: Any
    ) -> tuple[list[Any], list[float], list[bool], list[bool], list[dict[str, Any]]]:
        seen, rewards, terminated, truncated, _ = self._env.step(
            {agent: int(action) for agent, action in zip(self._agents, actions, strict=True)}
        )
        if not self._env.agents:
            seen, _ = self._env.reset()
        found = (
            [float(rewards[agent]) for agent in self._agents],
            [terminated[a] for a in self._agents],
            [truncated[a] for a in self._agents],
        )
        return self._filled(seen), *found, [{} for _ in self._agents]

    def render(self) -> None:
        """Sample Factory asks for one."""

    def _filled(self, seen: Any) -> list[Any]:
        rows = []
        for agent in self._agents:
            row = np.zeros(self._length, np.float32)
            row[: len(seen[agent])] = seen[agent]
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
