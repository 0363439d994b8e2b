"""How networks see a game: without some leaves, its images smaller, in grey, several at once.

These are `env.drop`, `env.resize`, `env.grey` and `env.stack`, of any game. Leaves are dropped
first; images are then made grey, then resized, then stacked. Everything else that a seat observes
stays as it is.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.config.game_options import VIEW, env_table
from pbt.envs.images import ImageShape, image_of
from pbt.envs.resizing import AreaResizer, grey
from pbt.envs.spaces import Leaf, ObservationCodec, Path, at_path
from pbt.errors import EnvError, EnvViewError

COLOURS = (3, 4)
Frames = deque[NDArray[Any]]


@dataclass(frozen=True)
class View:
    """What is done to every image, and which leaves are not seen.

    resize  (height, width); None: nothing
    grey    whether it is made grey
    stack   how many of the newest ones are seen at the same time
    drop    names of leaves that are not seen at all
    """

    resize: tuple[int, int] | None = None
    grey: bool = False
    stack: int = 1
    drop: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The keys of images that are set, as a config has them."""
        shown = {
            "resize": None if self.resize is None else list(self.resize),
            "grey": "true" if self.grey else None,
            "stack": None if self.stack == 1 else self.stack,
        }
        return ", ".join(f"{VIEW}{key} = {value}" for key, value in shown.items() if value)


def split_options(options: Mapping[str, Any]) -> tuple[View, dict[str, Any]]:
    """(how images are seen, the game's own options) of `EnvConfig.game_options`."""
    table = env_table("", options)
    resize = table.get("resize")
    size = None if not resize else (int(resize[0]), int(resize[1]))
    drop = tuple(table.get("drop", ()))
    return View(size, table.get("grey", False), table.get("stack", 1), drop), table["options"]


class RoleView:
    """What the seats of one role see.

    space   the observation space with its images changed
    images    how many of its leaves are images
    coloured  one of them has colours
    dropped   the names of the leaves that it does without
    """

    def __init__(self, space: gymnasium.Space[Any], view: View) -> None:
        # The last part of a tuple first, because those behind it move up.
        all_of_them = list(_paths(space))
        gone = [path for path in reversed(all_of_them) if _name(path) in view.drop]
        if len(gone) == len(all_of_them):
            leaves = ", ".join(map(_name, all_of_them))
            raise EnvViewError(
                f"env.drop = {list(view.drop)} drops all that a seat sees ({leaves}); "
                "leave at least one of them"
            )
        self.dropped, self._gone = {_name(path) for path in gone}, gone
        for path in gone:
            space = _space_without(space, path)
        codec = ObservationCodec(space)
        self._parts = [
            (path, _ImageView(leaf, image, view))
            for leaf, path in zip(codec.leaves, codec.paths, strict=True)
            if (image := image_of(leaf)) is not None
        ]
        self.images = len(self._parts)
        self.coloured = any(part.coloured for _, part in self._parts)
        self.space = space
        for path, part in self._parts:
            self.space = _space_with(self.space, path, part.space)

    def seat(self) -> "SeatView":
        """What one seat sees, before its first observation."""
        parts = [(path, part, part.new_frames()) for path, part in self._parts]
        return SeatView(parts, self._gone)


class SeatView:
    """What one seat sees in one game; it remembers the images that `env.stack` shows."""

    def __init__(
        self, parts: list[tuple[Path, "_ImageView", Frames]], gone: Sequence[Path]
    ) -> None:
        self._parts, self._gone = parts, gone

    def begin(self) -> None:
        """A game begins: forget what was seen."""
        for _, _, frames in self._parts:
            frames.clear()

    def see(self, observation: Any) -> Any:
        """The observation as networks see it; what the game gave stays as it is.

        Raises: EnvError for an image that does not have the shape of its space.
        """
        for path in self._gone:
            observation = _without(observation, path)
        for path, part, frames in self._parts:
            image = part.see(at_path(observation, path), frames)
            observation = _with(observation, path, image)
        return observation


class _ImageView:
    """One image leaf. space: how it is seen."""

    def __init__(self, leaf: Leaf, image: ImageShape, view: View) -> None:
        self._leaf, self._axis, self._stack = leaf, image.channel_axis, view.stack
        self.coloured = image.channels in COLOURS
        self._grey = view.grey and self.coloured
        old = (image.height, image.width)
        height, width = view.resize or old
        self._resizer = None if (height, width) == old else AreaResizer(old, (height, width))
        channels = (1 if self._grey else image.channels) * view.stack
        shape: tuple[int, ...] = (height, width, channels)
        if self._axis is None and view.stack == 1:
            shape = (height, width)
        elif self._axis == 0:
            shape = (channels, height, width)
        bound = int if leaf.dtype == np.uint8 else float
        self.space = spaces.Box(bound(leaf.low), bound(leaf.high), shape, leaf.dtype.type)

    def new_frames(self) -> Frames:
        return deque(maxlen=self._stack)

    def see(self, seen: Any, frames: Frames) -> NDArray[Any]:
        """A new array. frames: the newest images, to which this one is added."""
        picture = np.asarray(seen)
        if picture.shape != self._leaf.shape:
            raise EnvError(
                f"observation leaf {self._leaf.name}: found an image of shape {picture.shape}; "
                f"expected {self._leaf.shape}, as the space says; correct one of them in the game"
            )
        if self._axis is None:
            picture = picture[:, :, None]
        elif self._axis == 0:
            picture = picture.transpose(1, 2, 0)
        if self._grey:
            picture = grey(picture)
        if self._resizer is not None:
            picture = self._resizer(picture)
        if self._stack > 1:
            # A game may write its next image over this one.
            frames.append(picture.copy())
            missing = self._stack - len(frames)
            frames.extend([frames[0]] * missing)
            picture = np.concatenate(tuple(frames), axis=2)
        if self._axis == 0:
            return np.ascontiguousarray(picture.transpose(2, 0, 1))
        return picture[:, :, 0] if self._axis is None and self._stack == 1 else picture


def _space_with(
    space: gymnasium.Space[Any], path: Path, part: gymnasium.Space[Any]
) -> gymnasium.Space[Any]:
    """The space with another one at the path."""
    if not path:
        return part
    key, rest = path[0], path[1:]
    if isinstance(space, spaces.Dict):
        inner = {**space.spaces, str(key): _space_with(space.spaces[str(key)], rest, part)}
        return spaces.Dict(inner)
    assert isinstance(space, spaces.Tuple), "only these two have parts"
    return spaces.Tuple(
        [_space_with(sub, rest, part) if at == key else sub for at, sub in enumerate(space.spaces)]
    )


def _paths(space: gymnasium.Space[Any], path: Path = ()) -> Iterator[Path]:
    """Where every leaf stands, in order; also leaves that no network takes."""
    if isinstance(space, spaces.Dict):
        for name, part in space.spaces.items():
            yield from _paths(part, (*path, name))
    elif isinstance(space, spaces.Tuple):
        for at, part in enumerate(space.spaces):
            yield from _paths(part, (*path, at))
    else:
        yield path


def _name(path: Path) -> str:
    return "/".join(map(str, path))


def _space_without(space: gymnasium.Space[Any], path: Path) -> gymnasium.Space[Any]:
    key, rest = path[0], path[1:]
    if rest:
        inner = at_path(space, (key,))
        return _space_with(space, (key,), _space_without(inner, rest))
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: part for name, part in space.spaces.items() if name != key})
    assert isinstance(space, spaces.Tuple), "only these two have parts"
    return spaces.Tuple([part for at, part in enumerate(space.spaces) if at != key])


def _without(observation: Any, path: Path) -> Any:
    """The observation without the part at the path; everything around it is new."""
    key, rest = path[0], path[1:]
    if rest:
        return _with(observation, (key,), _without(observation[key], rest))
    if isinstance(observation, Mapping):
        return {name: part for name, part in observation.items() if name != key}
    return tuple(part for at, part in enumerate(observation) if at != key)


def _with(observation: Any, path: Path, image: NDArray[Any]) -> Any:
    """The observation with an image at the path; everything around it is new."""
    if not path:
        return image
    key, rest = path[0], path[1:]
    if isinstance(observation, Mapping):
        return {**observation, key: _with(observation[key], rest, image)}
    return tuple(
        _with(part, rest, image) if at == key else part for at, part in enumerate(observation)
    )
