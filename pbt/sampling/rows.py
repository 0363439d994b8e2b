"""Writing the worker's columns of a slab, one row at a time.

This runs once per step of every seat, so it uses numpy views and scalars only.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.contract import SeatTurn
from pbt.envs.spaces import ObservationCodec
from pbt.errors import EnvError
from pbt.sampling.leaf_column import LeafColumn
from pbt.transport.slab import OBSERVATION_PREFIX, Slab

Places = Sequence[int] | NDArray[np.int64]


class RowWriter:
    """Writes a worker's rows into one role's slab."""

    def __init__(self, slab: Slab) -> None:
        column = slab.column
        self._slab = slab
        self._codec = ObservationCodec(slab.layout.role.observation_space)
        self._leaves = [
            LeafColumn(leaf, column[OBSERVATION_PREFIX + leaf.name]) for leaf in slab.layout.leaves
        ]
        self._observations: list[NDArray[Any]] = [leaf.array for leaf in self._leaves]
        self.rollout_steps = slab.layout.rollout_steps
        self.reward_terms = slab.layout.reward_terms
        self.spec = slab.layout.actions
        self.actions = column["actions"]
        self.live_state, self._initial_state = column["live_state"], column["initial_state"]
        self.valid = column["valid"]
        self._mask, self._episode_start = column["mask"], column["episode_start"]
        self._rewards, self._tics = column["rewards"], column["tics"]
        self._origin = column["origin"]
        self._terminated, self._truncated = column["terminated"], column["truncated"]
        self._masked = slab.layout.role.masked
        self._checked = False
        acted = (*(one.name for one in slab.layout.acted), "version", "policy")
        self._acted = [column[name] for name in acted]

    def open(self, slot: int) -> None:
        """Start a slot at row 0, with poison in all its rows and a zero recurrent state."""
        self._slab.poison(slot)
        self._initial_state[slot] = 0.0

    def carry_state(self, source: int, target: int) -> None:
        """Copy the recurrent state of a running episode to the slot in which it goes on."""
        self.live_state[target] = self.live_state[source]
        self._initial_state[target] = self.live_state[source]

    def observe(self, slot: int, row: int, turn: SeatTurn, episode_start: bool) -> None:
        """Write what the seat sees at `row`.

        Raises EnvError when the role's first observation has not the declared shape, NumberError
        for a number that cannot be learned from.
        """
        if not self._checked:
            self._check_shapes(turn)
        for leaf, part in zip(self._leaves, self._codec.split(turn.observation), strict=True):
            leaf.write(slot, row, part)
        self._episode_start[slot, row] = episode_start
        if self._masked:
            self._mask[slot, row] = turn.mask

    def _check_shapes(self, turn: SeatTurn) -> None:
        """Check the role's first observation; numpy would silently broadcast one that is too small.

        Raises EnvError when it has not the declared shape.
        """
        for leaf, part in zip(
            self._slab.layout.leaves, self._codec.split(turn.observation), strict=True
        ):
            shape = np.shape(part)
            # A single number may have any number of axes of size 1, or none.
            if shape != leaf.shape and not np.size(part) == np.prod(leaf.shape) == 1:
                raise EnvError(
                    f"observation {leaf.name} has shape {list(shape)}; its space says "
                    f"{list(leaf.shape)}; `arena env check` finds such things"
                )
        self._checked = True

    def holds(self, slot: int, row: int, turn: SeatTurn) -> bool:
        """Whether `row` holds the observation of the turn."""
        pairs = zip(self._observations, self._codec.split(turn.observation), strict=True)
        return all(
            np.array_equal(
                column[slot, row], np.broadcast_to(part, column.shape[2:]).astype(column.dtype)
            )
            for column, part in pairs
        )

    def fingerprint(
        self, slots: Places, rows: Places, origins: Sequence[tuple[int, int, int, int]]
    ) -> None:
        """Write where rows come from: (table, game count, seat, step) of each."""
        # There are no rows when a guest forfeited every game of the request.
        if origins:
            self._origin[slots, rows] = origins

    def complete(self, slot: int, row: int, turn: SeatTurn) -> None:
        """Write the consequences of the action at `row`."""
        # One number at a time, since numpy takes five times as long to make an array of a list.
        for term, reward in enumerate(turn.rewards):
            self._rewards[slot, row, term] = reward
        self._terminated[slot, row] = turn.terminated
        self._truncated[slot, row] = turn.truncated and not turn.terminated
        self._tics[slot, row] = turn.tics
        self.valid[slot, row] = True

    def final_observation(self, slot: int, row: int, turn: SeatTurn) -> None:
        """Write a row that only bootstraps a truncated episode.

        If the game gives no final observation, the row repeats the last one.
        """
        if turn.observation is None:
            for column in self._observations:
                column[slot, row] = column[slot, row - 1]
            self._mask[slot, row] = True
        else:
            self.observe(slot, row, turn, episode_start=False)
        self._episode_start[slot, row] = False
        if row < self.rollout_steps:
            self.valid[slot, row] = False
            self._rewards[slot, row] = 0.0
            self._tics[slot, row] = 0
            self.actions[slot, row] = 0
            for column in self._acted:
                column[slot, row] = 0

    def restart(self, slot: int, row: int) -> None:
        """Start the slot again after its rows before `row` were dropped.

        The observation at `row` becomes that of row 0, the live recurrent state the initial one.
        """
        for column in (*self._observations, self._mask, self._episode_start):
            column[slot, 0] = column[slot, row]
        self._initial_state[slot] = self.live_state[slot]

    def drop(self, slot: int, start: int, stop: int) -> int:
        """Make rows [start, stop) invalid; returns the number of them that were valid."""
        dropped = self.count_valid(slot, start, stop)
        self.valid[slot, start:stop] = False
        return dropped

    def count_valid(self, slot: int, start: int, stop: int) -> int:
        return int(self.valid[slot, start:stop].sum())
