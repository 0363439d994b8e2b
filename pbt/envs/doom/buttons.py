"""Groups Doom's buttons into categorical heads."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# At most one button of a pair makes sense at a time, so a pair is one head; choice 0 presses none.
_OPPOSITES = (
    ("MOVE_FORWARD", "MOVE_BACKWARD"),
    ("MOVE_LEFT", "MOVE_RIGHT"),
    ("TURN_LEFT", "TURN_RIGHT"),
    ("MOVE_UP", "MOVE_DOWN"),
    ("LOOK_UP", "LOOK_DOWN"),
    ("SELECT_NEXT_WEAPON", "SELECT_PREV_WEAPON"),
)
_WEAPON = re.compile(r"SELECT_WEAPON\d")

Press = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class ButtonHeads:
    """The heads of an action.

    choices  by head and choice, the buttons that it presses with their values
    buttons  how many buttons there are
    """

    choices: tuple[tuple[Press, ...], ...]
    buttons: int

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(head) for head in self.choices)

    def pressed(self, indices: Sequence[int]) -> list[float]:
        """One index per head -> the value of every button."""
        values = [0.0] * self.buttons
        for head, index in zip(self.choices, indices, strict=True):
            for button, value in head[index]:
                values[button] = value
        return values


def turn_values(turns: int, limit: float) -> tuple[float, ...]:
    """The values of a delta button from -limit to limit, in degrees or map units per tic.

    The defaults, 21 values up to 12.5, are those of Petrenko et al. 2020, table A.4.
    """
    return tuple(float(value) for value in np.linspace(-limit, limit, turns))


def heads_of(buttons: Sequence[str], turns: Sequence[float]) -> ButtonHeads:
    """One head per pair of opposites, one for all weapons, one per delta or other button.

    Heads stand in the order of their first buttons.

    turns  the values of a delta button
    """
    groups: dict[str, list[int]] = {}
    for index, name in enumerate(buttons):
        groups.setdefault(_group(name), []).append(index)
    return ButtonHeads(
        tuple(
            _deltas(group, turns) if name.endswith("_DELTA") else _at_most_one(group)
            for name, group in groups.items()
        ),
        len(buttons),
    )


def one_head_of(buttons: Sequence[str], turns: Sequence[float]) -> ButtonHeads:
    """A single head: no button, or one of them.

    turns  the values of a delta button, each of which but 0 is a choice
    """
    choices: list[Press] = [()]
    for index, name in enumerate(buttons):
        values = [value for value in turns if value] if name.endswith("_DELTA") else [1.0]
        choices += [((index, value),) for value in values]
    return ButtonHeads((tuple(choices),), len(buttons))


def _group(name: str) -> str:
    if _WEAPON.fullmatch(name):
        return "weapon"
    return next((pair[0] for pair in _OPPOSITES if name in pair), name)


def _at_most_one(buttons: Sequence[int]) -> tuple[Press, ...]:
    return ((), *(((button, 1.0),) for button in buttons))


def _deltas(buttons: Sequence[int], turns: Sequence[float]) -> tuple[Press, ...]:
    (button,) = buttons
    return tuple(((button, value),) for value in turns)
