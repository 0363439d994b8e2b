"""The actions of the games that run, of every table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.actions import ActionSpec, GamePacking
from pbt.errors import EnvError

# Actions of a game that stand in the array of all tables; a longer game has older parts beside it.
_ROOM = 128
_LARGEST_CHOICE = 1 << 16


class History:
    """(seat, parts...) of every action of each table's game.

    They stand move by move, and within a move in the order of seats: the order of the answers must
    not show in the game or in its history.

    packing  packs a table's actions
    width    the most parts of an action
    dtype    of the arrays of actions: integers, or floats where some parts are numbers
    count    [tables] actions so far
    """

    def __init__(self, tables: int, specs: Sequence[ActionSpec]) -> None:
        """specs: of the seats. Raises: EnvError for a choice that cannot be stored."""
        largest = max((size for spec in specs for size in spec.choices), default=0)
        if largest > _LARGEST_CHOICE:
            raise EnvError(
                f"an action is one of {largest:,}; expected at most {_LARGEST_CHOICE:,}, which are "
                "stored with the game: give the game an action of several parts"
            )
        self.packing = GamePacking(specs)
        self.width = max(spec.width for spec in specs)
        numbers = any(spec.numbers for spec in specs)
        self.dtype: np.dtype[Any] = np.dtype(np.float64 if numbers else np.int64)
        self._alike = len({spec.width for spec in specs}) == 1 and not numbers
        self._actions = np.zeros((tables, _ROOM, 1 + self.width), self.dtype)
        self.count = np.zeros(tables, np.int64)
        # Actions of each table that were moved out of the array, and those themselves.
        self._moved = np.zeros(tables, np.int64)
        self._older: dict[int, list[NDArray[Any]]] = {}

    def clear(self, positions: NDArray[np.int64]) -> None:
        """Begin the histories of tables anew."""
        self.count[positions] = 0
        if self._older:
            self._moved[positions] = 0
            for position in positions.tolist():
                self._older.pop(position, None)

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
        rows = places - self._moved[positions]
        if len(rows) and rows.max() >= _ROOM:
            self._make_room(positions[rows >= _ROOM])
            rows = places - self._moved[positions]
        self._actions[positions, rows, 0] = seats
        self._actions[positions, rows, 1:] = actions
        self.count[positions] = places + 1

    def _make_room(self, positions: NDArray[np.int64]) -> None:
        """Move the actions of tables out of the array, which has no room for the next move."""
        for position in set(positions.tolist()):
            held = int(self.count[position] - self._moved[position])
            self._older.setdefault(position, []).append(self._actions[position, :held].copy())
            self._moved[position] = self.count[position]

    def _of(self, position: int) -> NDArray[Any]:
        """(seat, parts...) of each action of a table, [count, 1 + width]."""
        held = int(self.count[position] - self._moved[position])
        parts = [*self._older.get(position, ()), self._actions[position, :held]]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def flat(self, position: int) -> list[Any]:
        """(seat, parts...) of every action of a table in one flat list."""
        stored = self._of(position)
        if self._alike:
            return stored.reshape(-1).tolist()
        flat = list[Any]()
        for seat, parts in zip(stored[:, 0].astype(np.int64).tolist(), stored[:, 1:], strict=True):
            spec = self.packing.specs[seat]
            (action,) = spec.listed(parts[None, : spec.width])
            flat += (seat, *action)
        return flat

    def packed(self, positions: NDArray[np.int64]) -> list[bytes]:
        """The histories of tables as bytes, which `packing` reads."""
        if not self._alike:
            return [self.packing.pack(self.flat(position)) for position in positions.tolist()]
        if self._older:
            return [self._of(position).astype("<u2").tobytes() for position in positions.tolist()]
        counts = self.count[positions].tolist()
        words = self._actions[positions, : max(counts)].astype("<u2")
        return [own[:count].tobytes() for own, count in zip(words, counts, strict=True)]

    def set(self, position: int, flat: Sequence[Any]) -> None:
        """Take a table's history over from `flat`."""
        own, at = np.array([position]), 0
        self.clear(own)
        while at < len(flat):
            seat = flat[at]
            width = self.packing.specs[seat].width
            action = np.zeros((1, self.width), self.dtype)
            action[0, :width] = flat[at + 1 : at + 1 + width]
            self.add(own, np.array([seat]), action)
            at += 1 + width
