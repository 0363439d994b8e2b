"""Games of several tables, stepped together: what a rollout worker plays.

It is the contract of `pbt.envs.contract` for many tables, whose turns come as arrays. A group knows
its tables by their positions, 0 to tables - 1. Python games are put into a group by
`pbt.sampling.looped_games`, one after the other.
"""

from collections.abc import Collection
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pbt.envs.contract import Outcome
from pbt.errors import EnvError

Failures = dict[int, EnvError]
"""By position, the error of a game that went wrong."""


class Turns(NamedTuple):
    """What seats of several tables learn at one moment: `SeatTurn` in columns, for N seats.

    The turns of one table stand together, and a seat has one turn at most. Observations and masks
    stay with the group until `GameGroup.observe` writes them.

    position    [N] of the table
    seat        [N] of the game
    rewards     [N, terms] float64
    terminated  [N]
    truncated   [N]
    tics        [N]
    seen        [N] whether there is an observation; without one only at the end of an episode
    """

    position: NDArray[np.int64]
    seat: NDArray[np.int64]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    tics: NDArray[np.int64]
    seen: NDArray[np.bool_]

    @property
    def over(self) -> NDArray[np.bool_]:
        """[N] whether the seat's episode ended."""
        return self.terminated | self.truncated


class Decisions(NamedTuple):
    """What M seats do, whose tables are stepped; those of one table stand together.

    position  [M] of the table
    seat      [M] of the game
    action    [M, W]
    """

    position: NDArray[np.int64]
    seat: NDArray[np.int64]
    action: NDArray[Any]


class GameGroup(Protocol):
    """The games of some tables. A game that goes wrong gives no turns, and stands in `failures`."""

    failures: Failures
    """Of the latest `begin` or `step`, and of what was observed since."""

    replaying: bool
    """Open games are replayed: the observer is not shown what happens, and no table is left out."""

    @property
    def late(self) -> Collection[int]:
        """Positions of tables that have left the group: their games still do their last step."""

    def begin(self, positions: NDArray[np.int64]) -> Turns:
        """Start the planned games of these tables."""

    def step(self, positions: NDArray[np.int64], decisions: Decisions) -> Turns:
        """Act at these tables, [N]: one decision of each of their seats that are due.

        Tables whose games take too long have no turns now, and are `late`.
        """

    def resume(self, timeout_s: float) -> tuple[NDArray[np.int64], Turns]:
        """The turns of late tables that are done by now; these belong to the group again.

        timeout_s  how long to wait for the first one that is done
        Returns their positions, which may be none, and the turns.
        """

    def observe(
        self, turns: NDArray[np.int64], slots: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> list[int]:
        """Write what seats see into the slabs of their roles.

        turns  [K] indices into the latest turns
        slots  [K] where to write the observation and the mask
        rows   [K]
        Returns the turns that could not be written.
        """

    def outcomes(self, positions: NDArray[np.int64]) -> list[Outcome | EnvError]:
        """How the games of these tables ended, each of whose seats is over.

        An error stands where the game's own code went wrong.
        """

    def renew(self, position: int) -> None:
        """Give a table a new game in place of one that went wrong."""
