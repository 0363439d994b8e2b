"""The physics in plain numbers against mpe2's own: the same bits, in worlds that random play does not come to."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from mpe2._mpe_utils.core import Agent, Landmark, World
from mpe2.simple_push_v3 import raw_env

from pbt.envs.mpe_physics import quicken, step


def crowded_world(rng: np.random.Generator) -> World:
    """Up to five entities so close that most touch, some in one and the same place, of every kind that there is."""
    world = World()
    world.dim_c = 2
    world.agents = [Agent() for _ in range(rng.integers(1, 4))]
    world.landmarks = [Landmark() for _ in range(rng.integers(0, 3))]
    for entity in world.entities:
        entity.state.p_pos = rng.choice([rng.uniform(-0.05, 0.05, 2), np.zeros(2)])
        entity.state.p_vel = rng.uniform(-1.0, 1.0, 2)
        entity.movable, entity.collide = bool(rng.random() < 0.8), bool(rng.random() < 0.8)
        entity.size, entity.initial_mass = float(rng.uniform(0.01, 0.2)), float(rng.choice([1.0, 2.25]))
        entity.max_speed = None if rng.random() < 0.5 else float(rng.uniform(0.1, 2.0))
    for agent in world.agents:
        agent.silent = bool(rng.random() < 0.5)
        agent.action.u, agent.action.c = rng.choice([-5.0, 0.0, 5.0], 2), rng.uniform(size=2)
        agent.u_noise = 0.1 if rng.random() < 0.2 else None
    return world


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_step_gives_the_same_bits() -> None:
    rng, touched = np.random.default_rng(0), 0
    for seed in range(300):
        world = crowded_world(rng)
        theirs, ours = deepcopy(world), deepcopy(world)
        for _ in range(3):
            np.random.seed(seed)
            theirs.step()
            np.random.seed(seed)
            step(ours)
            for mine, other in zip(ours.entities, theirs.entities, strict=True):
                np.testing.assert_array_equal(mine.state.p_pos, other.state.p_pos)
                np.testing.assert_array_equal(mine.state.p_vel, other.state.p_vel)
            assert all(np.array_equal(mine.state.c, other.state.c) for mine, other in zip(ours.agents, theirs.agents, strict=True))
        touched += any(not np.isfinite(entity.state.p_vel).all() for entity in theirs.entities)
    assert touched, "no two of them were in one place"


def test_what_a_game_does_in_its_own_way_stays() -> None:
    class Windy(type(raw_env().world)):  # type: ignore[misc]
        def integrate_state(self, p_force: list[Any]) -> None:
            """Its own."""

    class Own(raw_env):  # type: ignore[misc]
        def _set_action(self, *given: Any) -> None:
            """Its own."""

    own = Own()
    own.world.__class__ = Windy
    quicken(own)
    assert "step" not in vars(own.world) and "_set_action" not in vars(own)
