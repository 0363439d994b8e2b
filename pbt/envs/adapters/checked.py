"""Checks what a game is given: the values of its options, and its actions."""

from collections.abc import Sequence
from typing import Any

from pbt.errors import EnvOptionsError

MOST = 1_000_000_000
"""The largest whole number that an option may have, if it does not say another one."""


class Values:
    """Options that were looked at, and what is wrong with them."""

    def __init__(self) -> None:
        self._wrong: list[str] = []

    def whole(self, name: str, value: Any, *, least: int, most: int = MOST) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self.add(name, value, f"a whole number from {least} to {most}")

    def chance(self, name: str, value: Any) -> None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0.0 <= value <= 1.0:
            self.add(name, value, "0.0 to 1.0")

    def switch(self, name: str, value: Any) -> None:
        if not isinstance(value, bool):
            self.add(name, value, "true or false")

    def add(self, name: str, value: Any, expected: str) -> None:
        """Note one that is wrong."""
        self._wrong.append(f"{name} = {value!r}: expected {expected}")

    def check(self) -> None:
        """Raises: EnvOptionsError that names every wrong one."""
        if self._wrong:
            raise EnvOptionsError(self._wrong)


def chosen(moves: Sequence[int], action: int) -> int:
    """The engine's number of an action. Engines take wrong ones without a word.

    Raises: ValueError for an action that is none.
    """
    if not 0 <= action < len(moves):
        raise ValueError(f"action {action}; expected 0 to {len(moves) - 1}")
    return moves[action]
