"""The physics of mpe2's particles in plain numbers, to the bit what the package computes by arrays of two: most of those take their time to begin."""

import inspect
import math
from functools import cache, partial
from importlib import import_module, metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of mpe2, whose physics this is.
_KNOWN_VERSIONS = ("1.1.",)
_WORLD_PARTS = ("step", "apply_action_force", "apply_environment_force", "integrate_state", "get_collision_force")
# mpe2's, of agents without one of their own
SENSITIVITY = 5.0
DIRECTIONS = ((0.0, 0.0), (-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0))
_LOG_2 = math.log(2.0)


def quicken(raw: Any) -> None:
    """Let a raw environment of mpe2 move its world by `step`, unless it has a physics of its own, or is of a version that may have another."""
    originals, world = _originals(), raw.world
    if originals is None or world.dim_p != 2:
        return
    plain_world, plain_env = originals
    if all(getattr(type(world), part) is getattr(plain_world, part) for part in _WORLD_PARTS):
        world.step = partial(step, world)
    for entity in world.entities:
        _unguard(entity.state)
    if type(raw)._set_action is plain_env._set_action and not raw.continuous_actions:
        raw._set_action = partial(_set_action, raw._set_action)


@cache
def known_version() -> bool:
    """Whether the rules of the mpe2 that is installed are those written down here."""
    return metadata.version("mpe2").startswith(_KNOWN_VERSIONS)


@cache
def _originals() -> tuple[Any, Any] | None:
    """World and SimpleEnv of mpe2; None where their code is not that of `step`."""
    if not known_version():
        return None
    return import_module("mpe2._mpe_utils.core").World, import_module("mpe2._mpe_utils.simple_env").SimpleEnv


def _unguard(state: Any) -> None:
    """Read positions and velocities without asking each time whether they were ever set: that is done thirty times in a step."""
    guarded = [name for name, part in inspect.getmembers(type(state)) if isinstance(part, property)]
    values = {name: vars(state)[f"_{name}"] for name in guarded}
    kind: Any = type(state)
    state.__class__ = _unguarded(kind, tuple(guarded))
    vars(state).update(values)


@cache
def _unguarded(kind: Any, names: tuple[str, ...]) -> Any:
    return type(kind.__name__, (kind,), dict.fromkeys(names))


def _set_action(original: Any, action: list[int], agent: Any, action_space: Any) -> None:
    """What an agent does: for those that move and say nothing, without making arrays."""
    if not (agent.movable and agent.silent):
        original(action, agent, action_space)
        return
    (index,) = action
    agent.action.u = _push(int(index), SENSITIVITY if agent.accel is None else agent.accel)


@cache
def _push(index: int, sensitivity: float) -> NDArray[np.float64]:
    push = np.array(DIRECTIONS[index]) * sensitivity
    push.flags.writeable = False
    return push


def step(world: Any) -> None:
    """`World.step` of mpe2: forces of actions and collisions, then positions and velocities of everything that moves."""
    for agent in world.agents:
        if agent.action_callback is not None:
            agent.action = agent.action_callback(agent, world)
    entities = [*world.agents, *world.landmarks]
    places = [entity.state.p_pos.tolist() for entity in entities]
    forces: list[tuple[float, float] | None] = [None] * len(entities)
    for index, agent in enumerate(world.agents):
        if agent.movable:
            noise = (np.random.randn(2) * agent.u_noise).tolist() if agent.u_noise else (0.0, 0.0)
            x, y = agent.action.u.tolist()
            forces[index] = x + noise[0], y + noise[1]
    colliders = [index for index, entity in enumerate(entities) if entity.collide]
    for rank, first in enumerate(colliders):
        for second in colliders[rank + 1 :]:
            _collide(world, entities, places, forces, first, second)
    for entity, (x, y), force in zip(entities, places, forces, strict=True):
        if entity.movable:
            _move(world, entity, x, y, force)
    for agent in world.agents:
        world.update_agent_state(agent)


def _collide(world: Any, entities: list[Any], places: list[list[float]], forces: list[tuple[float, float] | None], first: int, second: int) -> None:
    """Add the forces that push two entities apart."""
    (ax, ay), (bx, by) = places[first], places[second]
    x, y = contact(ax - bx, ay - by, entities[first].size + entities[second].size, world)
    for index, fx, fy in ((first, x, y), (second, -x, -y)):
        if entities[index].movable:
            before = forces[index] or (0.0, 0.0)
            forces[index] = fx + before[0], fy + before[1]


def contact(dx: float, dy: float, touching: float, world: Any) -> tuple[float, float]:
    """The force on an entity at (dx, dy) from another: the closer they are, the stronger. touching: the distance at which they meet"""
    margin, distance = world.contact_margin, math.sqrt(dx * dx + dy * dy)
    depth = _softplus(-(distance - touching) / margin) * margin
    # In the same place there is no direction; numpy's 0 / 0 is not a number, either.
    if not distance:
        return math.nan, math.nan
    return world.contact_force * dx / distance * depth, world.contact_force * dy / distance * depth


def _softplus(z: float) -> float:
    """log(1 + e^z) as numpy's logaddexp(0, z) has it."""
    if z == 0.0:
        return _LOG_2
    return math.log1p(math.exp(z)) if z < 0.0 else z + math.log1p(math.exp(-z))


def _move(world: Any, entity: Any, x: float, y: float, force: tuple[float, float] | None) -> None:
    state, dt, kept = entity.state, world.dt, 1 - world.damping
    vx, vy = state.p_vel.tolist()
    state.p_pos[0], state.p_pos[1] = x + vx * dt, y + vy * dt
    vx, vy = vx * kept, vy * kept
    if force is not None:
        mass = entity.mass
        vx, vy = vx + force[0] / mass * dt, vy + force[1] / mass * dt
    limit = entity.max_speed
    if limit is not None and (speed := math.sqrt(vx * vx + vy * vy)) > limit:
        vx, vy = vx / speed * limit, vy / speed * limit
    state.p_vel = np.array((vx, vy))
