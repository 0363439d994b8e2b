"""What the actions of a game are: their parts, and every form in which they are kept and played.

An action travels as a tuple of its parts: first the choices among alternatives, then the numbers,
both in the order of the space. `ActionSpec` is the only place that knows what the parts of a space
are, how wide a column of actions is and of what type, which entries a mask has, how actions are
packed, and which are legal.
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
from pbt.envs.number_bounds import NumberBounds, box_numbers
from pbt.envs.scripted import pick
from pbt.errors import EnvError

Mask = NDArray[np.bool_]
Builder = Callable[[Iterator[int], Iterator[float]], Any]
"""Takes the choices and the numbers of one part of a space, and makes that part of an action."""

_WORD, _NUMBER = np.dtype("<u2"), np.dtype("<f4")
_WORDS = _NUMBER.itemsize // _WORD.itemsize
_LARGEST = float(np.finfo(_NUMBER).max)


@dataclass(frozen=True)
class ActionSpec:
    """The actions of one space.

    choices  of each choice among alternatives, how many it has
    numbers  of each number, its bounds
    """

    choices: tuple[int, ...]
    numbers: tuple[NumberBounds, ...]
    _build: Builder | None = field(repr=False, compare=False)

    @classmethod
    def of(cls, space: gymnasium.Space[Any]) -> "ActionSpec":
        """The spec of a space. Raises: EnvError where it has parts that are not supported."""
        choices, numbers, build = _parts(space)
        if not choices and not numbers:
            raise EnvError(
                f"action space {space} has no part; expected a choice or a number at least"
            )
        plain = isinstance(space, spaces.Discrete) and int(space.start) == 0
        return cls(choices, numbers, None if plain else build)

    def __str__(self) -> str:
        choices = [f"one of {alternatives}" for alternatives in self.choices]
        return ", ".join([*choices, *map(str, self.numbers)])

    # --- columns and games ------------------------------------------------------------------------

    @cached_property
    def width(self) -> int:
        """The number of parts, which is also that of the uniforms that an action is drawn from."""
        return len(self.choices) + len(self.numbers)

    @cached_property
    def outputs(self) -> int:
        """What a network says of an action: a logit per alternative, then a mean per number."""
        return self.mask_size + len(self.numbers)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of a column of actions. Choices beside numbers are exact in float32, too."""
        return np.dtype(np.float32 if self.numbers else np.int64)

    @property
    def single_choice(self) -> bool:
        """Whether an action is one choice and nothing else."""
        return len(self.choices) == 1 and not self.numbers

    def listed(self, column: NDArray[Any]) -> list[Action]:
        """The actions of a column, [N, width], one by one."""
        if not self.numbers:
            return list(map(tuple, column.tolist()))
        count = len(self.choices)
        return [(*map(int, parts[:count]), *parts[count:]) for parts in column.tolist()]

    def decode(self, action: Action) -> Any:
        """The action as the game takes it: an element of the space."""
        if self._build is None:
            return action[0]
        count = len(self.choices)
        return self._build(iter(action[:count]), iter(action[count:]))

    def is_legal(self, parts: Sequence[Any], mask: Mask | None = None) -> bool:
        """Whether these are the parts of an action, and of one that the mask allows.

        mask  [mask_size]; None: everything is allowed
        """
        if len(parts) != self.width:
            return False
        start = 0
        for choice, alternatives in zip(parts, self.choices, strict=False):
            if type(choice) is not int or not 0 <= choice < alternatives:
                return False
            if mask is not None and not mask[start + choice]:
                return False
            start += alternatives
        return all(abs(number) <= _LARGEST for number in parts[len(self.choices) :])

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
        return np.split(mask, np.cumsum(self.choices)[:-1]) if self.choices else []

    # --- players ----------------------------------------------------------------------------------

    def random_act(
        self,
        observation: Mapping[str, NDArray[Any]],
        mask: Mask,
        uniforms: NDArray[np.float64],
    ) -> NDArray[Any]:
        """The player "random", which every game knows; a ScriptedAct.

        It is uniform over the legal alternatives of each choice, and between the bounds of each
        number; a number without bounds is standard normal. The parts are independent.
        """
        actions = np.empty((len(mask), self.width), self.dtype)
        start = 0
        for index, alternatives in enumerate(self.choices):
            actions[:, index] = pick(mask[:, start : start + alternatives], uniforms[:, index])
            start += alternatives
        for index, bounds in enumerate(self.numbers, len(self.choices)):
            actions[:, index] = bounds.random(uniforms[:, index])
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
        return len(self.choices) + _WORDS * len(self.numbers)

    def words(self, action: Action) -> list[int]:
        """The action in words: a choice is one, and a number the bits of its float32."""
        count = len(self.choices)
        return [*action[:count], *np.array(action[count:], _NUMBER).view(_WORD).tolist()]

    def read(self, words: Sequence[int]) -> Action:
        """The action of these words. Raises: ValueError where they are too few."""
        if not self.numbers:
            return tuple(words)
        count = len(self.choices)
        return (*words[:count], *np.array(words[count:], _WORD).view(_NUMBER).tolist())


class GamePacking:
    """Packs the actions of a game: of each the seat and then its words, little-endian uint16.

    specs  of the seats
    """

    def __init__(self, specs: Sequence[ActionSpec]) -> None:
        self.specs = tuple(specs)
        self._plain = not any(spec.numbers for spec in specs)

    @classmethod
    def of(cls, game: Game) -> "GamePacking":
        """That of a game's seats."""
        specs = [ActionSpec.of(role.action_space) for role in game.roles]
        return cls([specs[role] for role in game.seat_roles])

    def pack(self, history: Sequence[Any]) -> bytes:
        """(seat, parts...) of every action in one flat list, in order -> bytes."""
        if self._plain:
            return np.asarray(history, dtype=_WORD).tobytes()
        words, at = list[int](), 0
        while at < len(history):
            spec = self.specs[history[at]]
            end = at + 1 + spec.width
            words += (history[at], *spec.words(history[at + 1 : end]))
            at = end
        return np.asarray(words, dtype=_WORD).tobytes()

    def unpack(self, packed: bytes) -> list[tuple[int, Action]]:
        """(seat, action) of every action, in order.

        Raises: IndexError or ValueError for bytes that hold no whole actions of these seats.
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


Parts = tuple[tuple[int, ...], tuple[NumberBounds, ...], Builder]


def _parts(space: gymnasium.Space[Any]) -> Parts:
    """(alternatives of every choice, bounds of every number, builder) of a space."""
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return (int(space.n),), (), lambda choices, numbers: next(choices) + start
    if isinstance(space, spaces.MultiDiscrete):
        sizes = tuple(int(n) for n in space.nvec.reshape(-1))
        shape, dtype, first = space.nvec.shape, space.dtype, space.start
        return (
            sizes,
            (),
            lambda choices, numbers: (
                np.array([next(choices) for _ in sizes], dtype=dtype).reshape(shape) + first
            ),
        )
    if isinstance(space, spaces.MultiBinary):
        count, shape = int(np.prod(space.shape)), space.shape
        return (
            (2,) * count,
            (),
            lambda choices, numbers: np.array(
                [next(choices) for _ in range(count)], dtype=np.int8
            ).reshape(shape),
        )
    if isinstance(space, spaces.Box):
        bounds, build = box_numbers(space)
        return (), bounds, lambda choices, numbers: build(numbers)
    if isinstance(space, spaces.Dict):
        keys, found = tuple(space.spaces), [_parts(sub) for sub in space.spaces.values()]
        return _joined(found, lambda parts: dict(zip(keys, parts, strict=True)))
    if isinstance(space, spaces.Tuple):
        return _joined([_parts(sub) for sub in space.spaces], tuple)
    raise EnvError(
        f"action space {type(space).__name__} is not supported; expected Discrete, "
        "MultiDiscrete, MultiBinary, Box, or a Dict/Tuple of them; wrap the game so that it takes "
        "one of these"
    )


def _joined(found: Sequence[Parts], join: Callable[[Iterator[Any]], Any]) -> Parts:
    """The parts of a space that is made of others. join: makes an action of theirs, in order."""
    builders = [build for _, _, build in found]
    return (
        tuple(size for choices, _, _ in found for size in choices),
        tuple(bounds for _, numbers, _ in found for bounds in numbers),
        lambda choices, numbers: join(build(choices, numbers) for build in builders),
    )
