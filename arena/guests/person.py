"""A person as a guest: a match asks them like a program, through the page that shows the board."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.guests.player import SeatTaken
from arena.guests.protocol import GuestFault
from pbt.envs.contract import Action

Choose = Callable[[Sequence[int]], int]
"""Legal actions -> the chosen one; it may take any time. Raises: GuestFault to forfeit the game."""


class Person:
    """A person in one seat of one game whose actions have a single part."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose

    def take(self, taken: SeatTaken) -> None:
        """Does nothing: the person sits there already."""

    def act(
        self, keys: Sequence[int], observations: Mapping[str, NDArray[Any]], mask: NDArray[np.bool_]
    ) -> list[Action | GuestFault]:
        """As `Guest.act` in one game. The person sees the board instead of the observations."""
        (legal,) = mask
        try:
            return [(self._choose(np.flatnonzero(legal).tolist()),)]
        except GuestFault as fault:
            return [fault]

    def leave(self, key: int, result: Mapping[str, Any]) -> None:
        """Does nothing: the page that shows the board shows the end as well."""

    def close(self) -> None:
        """Does nothing: a person has no process to end."""
