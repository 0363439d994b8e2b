"""simple_push of mpe2 in plain numbers, to the bit what the package computes: two particles take less time than the arrays they would stand in."""

import math
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.mpe_physics import DIRECTIONS, SENSITIVITY, contact, known_version

Pair = tuple[float, float]


def can_play(raw: Any) -> bool:
    """Whether a raw environment is the package's own simple_push, of a version whose rules these are, and tells nothing but its rules."""
    if not known_version():
        return False
    module = import_module("mpe2.simple_push.simple_push")
    return type(raw) is module.raw_env and type(raw.scenario) is module.Scenario and not raw.benchmark_data and not raw.continuous_actions


class Push:
    """simple_push as a parallel environment. raw: lays out each game, by its own chance, and knows the spaces.

    The adversary comes first. It wants the agent to be far from the goal, one of two landmarks, and to be near it itself, but does not see which
    one that is; the agent wants to be near it. What is returned is good until the next step.
    """

    def __init__(self, raw: Any) -> None:
        self._raw, self._world = raw, raw.world
        self.possible_agents = list(raw.possible_agents)
        self.observation_space, self.action_space, self.close = raw.observation_space, raw.action_space, raw.close
        self.agents: list[Any] = []
        first, second = raw.world.agents
        self._touching = first.size + second.size
        self._masses = first.mass, second.mass
        self._steps = 0

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self._raw.reset(seed=seed, options=options)
        (adversary, agent), landmarks = self._world.agents, self._world.landmarks
        self._places: tuple[Pair, Pair] = (tuple(adversary.state.p_pos.tolist()), tuple(agent.state.p_pos.tolist()))
        self._speeds: tuple[Pair, Pair] = (tuple(adversary.state.p_vel.tolist()), tuple(agent.state.p_vel.tolist()))
        self._goal: Pair = tuple(agent.goal_a.state.p_pos.tolist())
        self._landmarks: tuple[Pair, ...] = tuple(tuple(landmark.state.p_pos.tolist()) for landmark in landmarks)
        self._own_colour, self._colours = agent.color.tolist(), [part for landmark in landmarks for part in landmark.color.tolist()]
        self.agents, self._steps = self.possible_agents, 0
        return self._seen(), self._raw.infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Any]:
        first, second = self.possible_agents
        self._move(DIRECTIONS[actions[first]], DIRECTIONS[actions[second]])
        self._steps += 1
        over = self._steps >= self._raw.max_cycles
        if over:
            self.agents = []
        (ax, ay), (bx, by), (gx, gy) = *self._places, self._goal
        far, near = math.sqrt((bx - gx) * (bx - gx) + (by - gy) * (by - gy)), math.sqrt((gx - ax) * (gx - ax) + (gy - ay) * (gy - ay))
        rewards, truncations = {first: far - near, second: -far}, {first: over, second: over}
        return self._seen(), rewards, self._raw.terminations, truncations, self._raw.infos

    def _move(self, push: Pair, other_push: Pair) -> None:
        """One step of the world: forces of the actions and of the particles on each other, then places by the old speeds, then speeds."""
        world = self._world
        ((ax, ay), (bx, by)), ((avx, avy), (bvx, bvy)), (mass, other_mass) = self._places, self._speeds, self._masses
        dt, kept = world.dt, 1 - world.damping
        cx, cy = contact(ax - bx, ay - by, self._touching, world)
        self._places = (ax + avx * dt, ay + avy * dt), (bx + bvx * dt, by + bvy * dt)
        fx, fy = cx + push[0] * SENSITIVITY, cy + push[1] * SENSITIVITY
        ox, oy = -cx + other_push[0] * SENSITIVITY, -cy + other_push[1] * SENSITIVITY
        self._speeds = (
            (avx * kept + fx / mass * dt, avy * kept + fy / mass * dt),
            (bvx * kept + ox / other_mass * dt, bvy * kept + oy / other_mass * dt),
        )

    def _seen(self) -> dict[Any, NDArray[np.float32]]:
        """What both see: positions are relative to their own; the agent sees its goal and colours, which tell it, too."""
        first, second = self.possible_agents
        ((ax, ay), (bx, by)), (adversary_speed, agent_speed), (gx, gy) = self._places, self._speeds, self._goal
        (px, py), (qx, qy) = self._landmarks
        return {
            first: np.array([*adversary_speed, px - ax, py - ay, qx - ax, qy - ay, bx - ax, by - ay], np.float32),
            second: np.array(
                [*agent_speed, gx - bx, gy - by, *self._own_colour, px - bx, py - by, qx - bx, qy - by, *self._colours, ax - bx, ay - by], np.float32
            ),
        }
