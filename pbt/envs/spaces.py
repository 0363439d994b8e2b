"""Flattens observation spaces: an observation becomes a tuple of named leaves."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.errors import EnvError

LeafKind = Literal["box", "onehot"]


@dataclass(frozen=True)
class Leaf:
    """One array of an observation.

    name   the path inside the observation, joined by "/"
    kind   "box": numbers; "onehot": integers that networks take one-hot
    sizes  of "onehot": element i of `shape` lies in [0, sizes[i])
    low    smallest value that the space allows
    high   largest value that the space allows
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    kind: LeafKind = "box"
    sizes: tuple[int, ...] = ()
    low: float = -np.inf
    high: float = np.inf


Path = tuple[str | int, ...]


def _leaves(space: gymnasium.Space[Any], path: Path) -> Iterator[tuple[Path, Leaf]]:
    name = "/".join(str(p) for p in path) or "observation"
    if isinstance(space, spaces.Dict):
        for key, sub in space.spaces.items():
            yield from _leaves(sub, (*path, key))
    elif isinstance(space, spaces.Tuple):
        for index, sub in enumerate(space.spaces):
            yield from _leaves(sub, (*path, index))
    elif isinstance(space, spaces.Discrete):
        if int(space.start) != 0:
            raise EnvError(
                f"observation leaf {name}: Discrete with start={int(space.start)}; expected "
                "start=0; shift it in the game"
            )
        yield path, Leaf(name, (1,), np.dtype(np.int64), "onehot", (int(space.n),))
    elif isinstance(space, spaces.MultiDiscrete):
        if np.any(space.start):
            raise EnvError(
                f"observation leaf {name}: MultiDiscrete with start={space.start.tolist()}; "
                "expected start=0; shift it in the game"
            )
        sizes = tuple(int(n) for n in space.nvec.reshape(-1))
        yield path, Leaf(name, (len(sizes),), np.dtype(np.int64), "onehot", sizes)
    elif isinstance(space, spaces.MultiBinary):
        yield (
            path,
            Leaf(name, tuple(int(n) for n in space.shape), np.dtype(np.int8), low=0.0, high=1.0),
        )
    elif isinstance(space, spaces.Box):
        dtype = np.dtype(np.float32) if space.dtype == np.float64 else np.dtype(space.dtype)
        low, high = float(np.min(space.low)), float(np.max(space.high))
        yield path, Leaf(name, tuple(int(n) for n in space.shape), dtype, low=low, high=high)
    else:
        raise EnvError(
            f"observation leaf {name}: {type(space).__name__} is not supported; expected "
            "Box, Discrete, MultiDiscrete, MultiBinary, "
            "or a Dict/Tuple of them; wrap the game so that it returns arrays"
        )


class ObservationCodec:
    """Writes observations of one space into the columns of a slab.

    leaves  of the space, in order
    paths   where each leaf stands inside an observation
    """

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        pairs = list(_leaves(space, ()))
        if not pairs:
            raise EnvError(
                "the observation space has no leaf: an agent must see something; return at "
                "least a constant Box of shape (1,)"
            )
        self.leaves: tuple[Leaf, ...] = tuple(leaf for _, leaf in pairs)
        self.paths: tuple[Path, ...] = tuple(path for path, _ in pairs)
        self._single = len(pairs) == 1 and self.paths[0] == ()

    def split(self, observation: Any) -> tuple[Any, ...]:
        """The observation's leaves, in the order of `leaves`, as the game gave them."""
        if self._single:
            return (observation,)
        return tuple(at_path(observation, path) for path in self.paths)

    def arrays(self, observation: Any) -> dict[str, NDArray[Any]]:
        """The observation's leaves by name, as arrays of the leaf's shape and dtype."""
        parts = zip(self.leaves, self.split(observation), strict=True)
        return {
            leaf.name: np.asarray(part, dtype=leaf.dtype).reshape(leaf.shape)
            for leaf, part in parts
        }


def at_path(observation: Any, path: Path) -> Any:
    """The part of an observation at the path."""
    for key in path:
        observation = observation[key]
    return observation
