"""Judges one turn: what is wrong with its observation, its mask, its rewards and its tics.

What is wrong breaks the contract. What training takes all the same is a warning instead.
"""

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.envs.actions import ActionSpec
from pbt.envs.contract import Role, SeatTurn
from pbt.envs.numbers import cast_warning, leaf_problem, rewards_problem
from pbt.envs.spaces import ObservationCodec

# What to do about an observation that does not fit.
_FITTING = (
    "return it with the space's shape and dtype, inside its bounds, or widen the declared space"
)


def observation_problem(role: Role, turn: SeatTurn) -> str | None:
    """What is wrong with the form of the observation of a turn; None: nothing."""
    if turn.observation is not None:
        return _misfit(role.observation_space, turn.observation, "observation")
    if turn.over:
        return None
    return f"observation None while it must act; expected an element of {role.observation_space}"


def _misfit(space: gymnasium.Space[Any], value: Any, where: str) -> str | None:
    """What is wrong with the value, at the innermost place that shows it; None: it fits.

    The numbers of a Box are judged apart.
    """
    if isinstance(space, spaces.Box):
        return _box_misfit(space, value, where)
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        if space.contains(value):
            return None
        return f"{where} is {value!r:.80}; expected an element of {space}; {_FITTING}"
    parts = list(
        space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
    )
    for key, sub in parts:
        try:
            inner = _misfit(sub, value[key], f"{where}[{key!r}]")
        except (KeyError, IndexError, TypeError):
            return f"{where} has no entry {key!r}; expected {space}"
        if inner:
            return inner
    if len(value) != len(parts):
        return f"{where} is {value!r:.80}; expected an element of {space}; {_FITTING}"
    return None


def _box_misfit(space: spaces.Box, value: Any, where: str) -> str | None:
    """What is wrong with the form of an array; None: it has the space's."""
    if not isinstance(value, np.ndarray | np.generic):
        kind = type(value).__name__
        return f"{where} is a {kind}; expected a numpy array of {space}; {_FITTING}"
    if value.shape != space.shape or value.dtype.kind not in "biuf":
        return (
            f"{where} has shape {value.shape} and dtype {value.dtype}; expected "
            f"{space.shape} and {space.dtype}; {_FITTING}"
        )
    return None


def number_problem(codec: ObservationCodec, terms: tuple[str, ...], turn: SeatTurn) -> str | None:
    """Which number of a turn cannot be learned from; None: all can.

    codec  of the role; the observation has the form of its space
    terms  names of the game's reward terms, as many as the turn has rewards
    """
    if problem := rewards_problem(terms, turn.rewards):
        return problem
    if turn.observation is None:
        return None
    pairs = zip(codec.leaves, codec.split(turn.observation), strict=True)
    return next(filter(None, (leaf_problem(leaf, part) for leaf, part in pairs)), None)


def observation_warnings(role: Role, codec: ObservationCodec, turn: SeatTurn) -> Iterator[str]:
    """What training takes though it is not what the space says, one sentence each.

    The observation has the form of its space, and usable numbers.
    """
    if turn.observation is None:
        return
    parts = zip(codec.leaves, codec.paths, codec.split(turn.observation), strict=True)
    for leaf, path, part in parts:
        if warning := cast_warning(leaf, part):
            yield warning
        space = role.observation_space
        for key in path:
            space = space.spaces[key]  # type: ignore[attr-defined]
        if isinstance(space, spaces.Box) and (warning := _outside(space, part, leaf.name)):
            yield warning


def _outside(space: spaces.Box, value: NDArray[Any], name: str) -> str | None:
    """That an array leaves the bounds of its space; None: it does not."""
    if not ((value < space.low) | (value > space.high)).any():
        return None
    low, high = float(np.min(space.low)), float(np.max(space.high))
    return (
        f"observation leaf {name} has values from {value.min()} to {value.max()}, outside its "
        f"space, {low:g} to {high:g}; widen the declared space"
    )


def mask_problem(role: Role, spec: ActionSpec, turn: SeatTurn) -> str | None:
    """What is wrong with the mask of a turn; None: nothing.

    spec  of the role's actions
    """
    mask, total = turn.mask, spec.mask_size
    if mask is None and (turn.over or not role.masked):
        return None
    if not role.masked:
        return (
            f"a mask, though role {role.name!r} is not masked; expected None, or masked=True in "
            "the Role"
        )
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (total,):
        form = (
            f"shape {mask.shape}, dtype {mask.dtype}"
            if isinstance(mask, np.ndarray)
            else type(mask).__name__
        )
        return (
            f"mask with {form}; expected a numpy array of shape ({total},), dtype bool: one entry "
            "per choice, heads side by side"
        )
    empty = [head for head, part in enumerate(spec.split(mask)) if not part.any()]
    if empty and not turn.over:
        return (
            f"no legal choice in head {empty[0]} of the mask; expected at least one; give a pass "
            "action, or end the episode"
        )
    return None


def reward_problem(terms: tuple[str, ...], turn: SeatTurn, first: bool) -> str | None:
    """What is wrong with the count or the time of the rewards of a turn; None: nothing.

    terms  names of the game's reward terms
    first  the turn comes from a reset
    """
    if len(turn.rewards) != len(terms):
        return f"{len(turn.rewards)} rewards; expected {len(terms)}, one per term {terms}"
    if first and any(turn.rewards):
        return f"rewards {list(turn.rewards)} at reset; expected zeros: nothing was played yet"
    return None


def tics_problem(turn: SeatTurn, acted: bool, first: bool) -> str | None:
    """What is wrong with the count of tics of a turn; None: nothing.

    acted  the seat acted since its turn before
    first  the turn comes from a reset
    """
    if acted and not turn.tics > 0:
        return (
            f"tics {turn.tics} after an action; expected at least 1; say how many engine ticks "
            "the action covered"
        )
    if first and turn.tics != 0:
        return f"tics {turn.tics} at reset; expected 0: nothing was played yet"
    return None
