"""Doom's buttons as categorical heads."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Buttons of which at most one makes sense at a time: one head, whose choice 0 presses none of them.
_OPPOSITES = (
    ("MOVE_FORWARD", "MOVE_BACKWARD"),
    ("MOVE_LEFT", "MOVE_RIGHT"),
    ("TURN_LEFT", "TURN_RIGHT"),
    ("MOVE_UP", "MOVE_DOWN"),
    ("LOOK_UP", "LOOK_DOWN"),
    ("SELECT_NEXT_WEAPON", "SELECT_PREV_WEAPON"),
)
_WEAPON = re.compile(r"SELECT_WEAPON\d")
# A turn by the paper's 21 angles (Petrenko et al. 2020, section A.2.2): degrees, or map units, per
# tic.
_DELTAS = tuple(float(value) for value in np.linspace(-12.5, 12.5, 21))

Press = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class ButtonHeads:
    """choices: by head and choice, the buttons it presses with their values;  buttons: how many
    there are.
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


def heads_of(buttons: Sequence[str]) -> ButtonHeads:
    """One head per pair of opposites, one for all weapons, one per delta button, one per other
    button. In the order of their first buttons.
    """
    groups: dict[str, list[int]] = {}
    for index, name in enumerate(buttons):
        groups.setdefault(_group(name), []).append(index)
    return ButtonHeads(
        tuple(
            _deltas(group) if name.endswith("_DELTA") else _at_most_one(group)
            for name, group in groups.items()
        ),
        len(buttons),
    )


def one_head_of(buttons: Sequence[str]) -> ButtonHeads:
    """A single head: no button, or one of them; each value but 0 of a delta button is a choice."""
    choices: list[Press] = [()]
    for index, name in enumerate(buttons):
        values = [value for value in _DELTAS if value] if name.endswith("_DELTA") else [1.0]
        choices += [((index, value),) for value in values]
    return ButtonHeads((tuple(choices),), len(buttons))


def _group(name: str) -> str:
    if _WEAPON.fullmatch(name):
        return "weapon"
    return next((pair[0] for pair in _OPPOSITES if name in pair), name)


def _at_most_one(buttons: Sequence[int]) -> tuple[Press, ...]:
    return ((), *(((button, 1.0),) for button in buttons))


def _deltas(buttons: Sequence[int]) -> tuple[Press, ...]:
    (button,) = buttons
    return tuple(((button, value),) for value in _DELTAS)
