"""A person as a guest: asked like a program, through whatever shows them the board."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.guests.player import SeatTaken
from arena.guests.protocol import Action, GuestFault

Choose = Callable[[Sequence[int]], int]
"""The legal actions -> the one chosen, whenever that is. Raises: GuestFault to forfeit the game."""


class Person:
    """Somebody in one seat of one game whose actions have one part."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose

    def take(self, taken: SeatTaken) -> None:
        """They sit there already."""

    def act(
        self, keys: Sequence[int], observations: Mapping[str, NDArray[Any]], mask: NDArray[np.bool_]
    ) -> list[Action | GuestFault]:
        """As `arena.guests.tables.Guest.act`, in one game: what they see is not this, but the
        whole board.
        """
        (legal,) = mask
        try:
            return [(self._choose(np.flatnonzero(legal).tolist()),)]
        except GuestFault as fault:
            return [fault]

    def leave(self, key: int, result: Mapping[str, Any]) -> None:
        """Whoever shows them the board shows the end."""

    def close(self) -> None:
        """They have gone."""
