"""What the actions of a game are: their parts, and every form in which they are kept and played.

An action travels as a tuple of its parts: choices among alternatives, in the order of the space.
`ActionSpec` is the only place that knows what the parts of a space are, how wide a column of
actions is and of what type, which entries a mask has, how actions are packed, and which are legal.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.envs.contract import Action, Game
from pbt.envs.scripted import pick
from pbt.errors import EnvError

Mask = NDArray[np.bool_]
Builder = Callable[[Iterator[int]], Any]
"""Takes the choices of one part of a space, and makes that part of an action."""

_WORD = np.dtype("<u2")


@dataclass(frozen=True)
class ActionSpec:
    """The actions of one space.

    choices  of each choice among alternatives, how many it has
    """

    choices: tuple[int, ...]
    _build: Builder | None = field(repr=False, compare=False)

    @classmethod
    def of(cls, space: gymnasium.Space[Any]) -> "ActionSpec":
        """The spec of a space. Raises: EnvError where it has parts that are not supported."""
        choices, build = _parts(space)
        if not choices:
            raise EnvError(f"action space {space} has no part; expected a choice at least")
        plain = isinstance(space, spaces.Discrete) and int(space.start) == 0
        return cls(choices, None if plain else build)

    def __str__(self) -> str:
        return ", ".join(f"one of {alternatives}" for alternatives in self.choices)

    # --- columns and games ------------------------------------------------------------------------

    @cached_property
    def width(self) -> int:
        """The number of parts, which is also that of the uniforms that an action is drawn from."""
        return len(self.choices)

    @cached_property
    def outputs(self) -> int:
        """How many numbers a network says of an action: a logit per alternative."""
        return self.mask_size

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of a column of actions."""
        return np.dtype(np.int64)

    @property
    def single_choice(self) -> bool:
        """Whether an action is one choice and nothing else."""
        return len(self.choices) == 1

    def listed(self, column: NDArray[Any]) -> list[Action]:
        """The actions of a column, [N, width], one by one."""
        return list(map(tuple, column.tolist()))

    def decode(self, action: Action) -> Any:
        """The action as the game takes it: an element of the space."""
        return action[0] if self._build is None else self._build(iter(action))

    def is_legal(self, parts: Sequence[Any], mask: Mask | None = None) -> bool:
        """Whether these are the parts of an action, and of one that the mask allows.

        mask  [mask_size]; None: everything is allowed
        """
        if len(parts) != self.width:
            return False
        start = 0
        for choice, alternatives in zip(parts, self.choices, strict=True):
            if type(choice) is not int or not 0 <= choice < alternatives:
                return False
            if mask is not None and not mask[start + choice]:
                return False
            start += alternatives
        return True

    # --- masks ------------------------------------------------------------------------------------

    @cached_property
    def mask_size(self) -> int:
        """The number of entries of a mask: one per alternative, choices side by side."""
        return sum(self.choices)

    @cached_property
    def free(self) -> Mask:
        """The mask that allows everything, [mask_size]; not to be written to."""
        mask = np.ones(self.mask_size, np.bool_)
        mask.flags.writeable = False
        return mask

    def split(self, mask: Mask) -> list[Mask]:
        """The part of a mask that belongs to each choice."""
        return np.split(mask, np.cumsum(self.choices)[:-1])

    # --- players ----------------------------------------------------------------------------------

    def random_act(
        self,
        observation: Mapping[str, NDArray[Any]],
        mask: Mask,
        uniforms: NDArray[np.float64],
    ) -> NDArray[Any]:
        """The player "random", which every game knows; a ScriptedAct.

        It is uniform over the legal alternatives of each choice, and the parts are independent.
        """
        actions = np.empty((len(mask), self.width), self.dtype)
        start = 0
        for index, alternatives in enumerate(self.choices):
            actions[:, index] = pick(mask[:, start : start + alternatives], uniforms[:, index])
            start += alternatives
        return actions

    def drawn(self, mask: Mask | None, uniforms: Sequence[float] | NDArray[np.float64]) -> Action:
        """The action that "random" makes of one turn's mask and of `width` uniforms."""
        legal = self.free if mask is None else mask
        (action,) = self.listed(self.random_act({}, legal[None], np.array([uniforms])))
        return action

    # --- packing ----------------------------------------------------------------------------------

    @cached_property
    def word_count(self) -> int:
        """The number of words of 16 bits into which every action is packed."""
        return len(self.choices)

    def read(self, words: Sequence[int]) -> Action:
        """The action of these words."""
        return tuple(words)


class GamePacking:
    """Packs the actions of a game: of each the seat and then its words, little-endian uint16.

    specs  of the seats
    """

    def __init__(self, specs: Sequence[ActionSpec]) -> None:
        self.specs = tuple(specs)

    @classmethod
    def of(cls, game: Game) -> "GamePacking":
        """That of a game's seats."""
        specs = [ActionSpec.of(role.action_space) for role in game.roles]
        return cls([specs[role] for role in game.seat_roles])

    def pack(self, history: Sequence[Any]) -> bytes:
        """(seat, parts...) of every action in one flat list, in order -> bytes."""
        return np.asarray(history, dtype=_WORD).tobytes()

    def unpack(self, packed: bytes) -> list[tuple[int, Action]]:
        """(seat, action) of every action, in order.

        Raises: IndexError or ValueError for bytes that are no actions of these seats.
        """
        flat = np.frombuffer(packed, dtype=_WORD).tolist()
        actions, at = [], 0
        while at < len(flat):
            seat = flat[at]
            spec = self.specs[seat]
            end = at + 1 + spec.word_count
            actions.append((seat, spec.read(flat[at + 1 : end])))
            at = end
        return actions


Parts = tuple[tuple[int, ...], Builder]


def _parts(space: gymnasium.Space[Any]) -> Parts:
    """(alternatives of every choice, builder) of a space."""
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return (int(space.n),), lambda choices: next(choices) + start
    if isinstance(space, spaces.MultiDiscrete):
        sizes = tuple(int(n) for n in space.nvec.reshape(-1))
        shape, dtype, first = space.nvec.shape, space.dtype, space.start
        return (
            sizes,
            lambda choices: (
                np.array([next(choices) for _ in sizes], dtype=dtype).reshape(shape) + first
            ),
        )
    if isinstance(space, spaces.MultiBinary):
        count, shape = int(np.prod(space.shape)), space.shape
        return (2,) * count, lambda choices: np.array(
            [next(choices) for _ in range(count)], dtype=np.int8
        ).reshape(shape)
    if isinstance(space, spaces.Dict):
        keys, found = tuple(space.spaces), [_parts(sub) for sub in space.spaces.values()]
        return _joined(found, lambda parts: dict(zip(keys, parts, strict=True)))
    if isinstance(space, spaces.Tuple):
        return _joined([_parts(sub) for sub in space.spaces], tuple)
    raise EnvError(
        f"action space {type(space).__name__} is not supported; expected Discrete, "
        "MultiDiscrete, MultiBinary, or a Dict/Tuple of them; "
        "discretise continuous actions in the game"
    )


def _joined(found: Sequence[Parts], join: Callable[[Iterator[Any]], Any]) -> Parts:
    """The parts of a space that is made of others. join: makes an action of theirs, in order."""
    builders = [build for _, build in found]
    return (
        tuple(size for choices, _ in found for size in choices),
        lambda choices: join(build(choices) for build in builders),
    )
