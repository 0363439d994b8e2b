"""Checks the values that a game's options have, and tells all the wrong ones at once."""

from typing import Any

from pbt.errors import EnvOptionsError


class Values:
    """Options that were looked at, and what is wrong with them."""

    def __init__(self) -> None:
        self._wrong: list[str] = []

    def whole(self, name: str, value: Any, *, least: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self._add(name, value, f"a whole number of {least} or more")

    def chance(self, name: str, value: Any) -> None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0.0 <= value <= 1.0:
            self._add(name, value, "0.0 to 1.0")

    def switch(self, name: str, value: Any) -> None:
        if not isinstance(value, bool):
            self._add(name, value, "true or false")

    def check(self) -> None:
        """Raises: EnvOptionsError that names every wrong one."""
        if self._wrong:
            raise EnvOptionsError(self._wrong)

    def _add(self, name: str, value: Any, expected: str) -> None:
        self._wrong.append(f"{name} = {value!r}: expected {expected}")
