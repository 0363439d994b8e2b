"""Writing the worker's columns of a slab, for many seats at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.contract import SeatTurn
from pbt.envs.spaces import ObservationCodec
from pbt.errors import EnvError
from pbt.sampling.leaf_column import LeafColumn
from pbt.transport.slab import OBSERVATION_PREFIX, ROUND, Slab

Places = NDArray[np.int64]


class RowWriter:
    """Writes a worker's rows into one role's slab. slots, rows: [N], of the rows meant."""

    def __init__(self, slab: Slab) -> None:
        column = self.column = slab.column
        self._slab = slab
        self._codec = ObservationCodec(slab.layout.role.observation_space)
        self._leaves = [
            LeafColumn(leaf, column[OBSERVATION_PREFIX + leaf.name]) for leaf in slab.layout.leaves
        ]
        self.observations: list[NDArray[Any]] = [leaf.array for leaf in self._leaves]
        self.rollout_steps = slab.layout.rollout_steps
        self.reward_terms = slab.layout.reward_terms
        self.spec = slab.layout.actions
        self.actions = column["actions"]
        self.live_state, self._initial_state = column["live_state"], column["initial_state"]
        self.valid = column["valid"]
        self.mask, self._episode_start = column["mask"], column["episode_start"]
        self._rewards, self._tics = column["rewards"], column["tics"]
        self._origin = column["origin"]
        self._terminated, self._truncated = column["terminated"], column["truncated"]
        self._masked = slab.layout.role.masked
        self._checked = False
        acted = (*(one.name for one in slab.layout.acted), "version", "policy")
        self._acted = [column[name] for name in acted]

    def open(self, slots: Places) -> None:
        """Start slots at row 0, with poison in all their rows and a zero recurrent state."""
        self._slab.poison(slots)
        self._initial_state[slots] = 0.0

    def go_on(self, full: Places, rows: Places | int, fresh: Places) -> None:
        """Let running episodes go on in fresh slots: with these rows of the full ones, and state.

        That is the observation which bootstraps the full slot, and the first of the fresh one.
        """
        self.open(fresh)
        for column in (*self.observations, self.mask, self._episode_start):
            column[fresh, 0] = column[full, rows]
        self.live_state[fresh] = self.live_state[full]
        self._initial_state[fresh] = self.live_state[full]

    def begin_row(self, slots: Places, rows: Places, episode_start: NDArray[np.bool_]) -> None:
        """Note whether the observations of rows begin an episode."""
        self._episode_start[slots, rows] = episode_start

    def observe(self, slot: int, row: int, turn: SeatTurn) -> None:
        """Write what the seat of a Python game sees at `row`.

        Raises EnvError when the role's first observation has not the declared shape, NumberError
        for a number that cannot be learned from.
        """
        if not self._checked:
            self._check_shapes(turn)
        for leaf, part in zip(self._leaves, self._codec.split(turn.observation), strict=True):
            leaf.write(slot, row, part)
        if self._masked:
            self.mask[slot, row] = turn.mask

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

    def fingerprint(self, slots: Places, rows: Places, origins: Places) -> None:
        """Write where rows come from: [N, 4], (table, game count, seat, step) of each."""
        self._origin[slots, rows] = origins

    def complete(
        self,
        slots: Places,
        rows: Places,
        rewards: NDArray[np.float64],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        tics: NDArray[np.int64],
    ) -> None:
        """Write the consequences of the actions at these rows."""
        at = slots, rows
        self._rewards[at], self._tics[at] = rewards, tics
        self._terminated[at], self._truncated[at] = terminated, truncated & ~terminated
        self.valid[at] = True

    def repeat_last(self, slots: Places, rows: Places) -> None:
        """Repeat the observations of the rows before, where a game gives no final ones."""
        for column in self.observations:
            column[slots, rows] = column[slots, rows - 1]
        self.mask[slots, rows] = True

    def close_row(self, slots: Places, rows: Places) -> None:
        """Make rows behind truncated episodes such that only bootstrap."""
        self._episode_start[slots, rows] = False
        inside = rows < self.rollout_steps
        at = slots[inside], rows[inside]
        self.valid[at] = False
        for column in (self._rewards, self._tics, self.actions, *self._acted):
            column[at] = 0

    def forget(self, slots: Places) -> None:
        """Start slots again at row 0, whose action is not kept, with the memory behind it."""
        self._initial_state[slots] = self.live_state[slots]

    def note_round(self, slots: Places, rows: Places, round: int) -> None:
        """Write in which round rows were acted."""
        self.column[ROUND][slots, rows] = round

    def restart(self, slot: int, row: int) -> None:
        """Start the slot again after its rows before `row` were dropped.

        The observation at `row` becomes that of row 0, the live recurrent state the initial one.
        """
        for column in (*self.observations, self.mask, self._episode_start):
            column[slot, 0] = column[slot, row]
        self._initial_state[slot] = self.live_state[slot]

    def drop(self, slot: int, start: int, stop: int) -> int:
        """Make rows [start, stop) invalid; returns the number of them that were valid."""
        dropped = int(self.valid[slot, start:stop].sum())
        self.valid[slot, start:stop] = False
        return dropped

    def count_valid(self, slots: Places, stops: Places) -> int:
        """Number of valid rows in slots; of each those before its stop. slots, stops: [N]."""
        before = np.arange(self.valid.shape[1]) < stops[:, None]
        return int((self.valid[slots] & before).sum())
