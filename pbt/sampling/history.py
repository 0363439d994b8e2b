"""The actions of the games that run, of every table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.actions import ActionSpec, GamePacking

_FIRST_ROOM = 64


class History:
    """(seat, parts...) of every action of each table's game.

    They stand move by move, and within a move in the order of seats: the order of the answers must
    not show in the game or in its history.

    count  [tables] actions so far
    """

    def __init__(self, tables: int, specs: Sequence[ActionSpec]) -> None:
        """specs: of the seats."""
        self.packing = GamePacking(specs)
        self.width = max(spec.width for spec in specs)
        numbers = any(spec.numbers for spec in specs)
        self.dtype: np.dtype[Any] = np.dtype(np.float64 if numbers else np.int64)
        self._alike = len({spec.width for spec in specs}) == 1 and not numbers
        self._actions = np.zeros((tables, _FIRST_ROOM, 1 + self.width), self.dtype)
        self.count = np.zeros(tables, np.int64)

    def add(
        self, positions: NDArray[np.int64], seats: NDArray[np.int64], actions: NDArray[Any]
    ) -> None:
        """Add a move of several tables; the actions of one table stand together.

        positions  [N] tables
        seats      [N] of the game
        actions    [N, width]
        """
        places = self.count[positions]
        if len(positions) > 1 and (positions[1:] == positions[:-1]).any():
            # The k-th action of a table's move stands k places behind the first.
            starts = np.flatnonzero(np.diff(positions, prepend=-1))
            places += np.arange(len(positions)) - np.repeat(
                starts, np.diff(starts, append=len(positions))
            )
        if len(places) and places.max() >= self._actions.shape[1]:
            self._grow(int(places.max()) + 1)
        self._actions[positions, places, 0] = seats
        self._actions[positions, places, 1:] = actions
        self.count[positions] = places + 1

    def _grow(self, needed: int) -> None:
        tables, room, parts = self._actions.shape
        grown = np.zeros((tables, max(needed, 2 * room), parts), self.dtype)
        grown[:, :room] = self._actions
        self._actions = grown

    def flat(self, position: int) -> list[Any]:
        """(seat, parts...) of every action of a table in one flat list."""
        stored, flat = self._actions[position, : self.count[position]], list[Any]()
        for seat, parts in zip(stored[:, 0].astype(np.int64).tolist(), stored[:, 1:], strict=True):
            spec = self.packing.specs[seat]
            (action,) = spec.listed(parts[None, : spec.width])
            flat += (seat, *action)
        return flat

    def packed(self, positions: NDArray[np.int64]) -> list[bytes]:
        """The histories of tables as bytes, which `packing` reads."""
        if not self._alike:
            return [self.packing.pack(self.flat(position)) for position in positions.tolist()]
        counts = self.count[positions].tolist()
        words = self._actions[positions, : max(counts)].astype("<u2")
        return [own[:count].tobytes() for own, count in zip(words, counts, strict=True)]

    def set(self, position: int, flat: Sequence[Any]) -> None:
        """Take a table's history over from `flat`."""
        self.count[position] = 0
        at = 0
        while at < len(flat):
            seat = flat[at]
            width = self.packing.specs[seat].width
            action = np.zeros((1, self.width), self.dtype)
            action[0, :width] = flat[at + 1 : at + 1 + width]
            self.add(np.array([position]), np.array([seat]), action)
            at += 1 + width
