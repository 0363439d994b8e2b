"""Every message between components: small, plain, without observations.

A slot number in a message hands the slot over (docs/slots.md).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pbt.records import GameKind, GameRecord, PlayerRef, SeatRecord


class SeatPlan(NamedTuple):
    """Who plays a seat of a planned game. policy: index in the policy table; learning: its rows
    are trained on.
    """

    player: PlayerRef
    policy: int
    generation: int
    learning: bool


class GamePlan(NamedTuple):
    """One game to be played at a table.

    game_count      the table's running number of this game; (table, game_count) names it
    seed            of the game's own chance
    noise           key of the players' action noise, together with the seat
    opening_plies   first moves drawn uniformly from the legal ones, from `opening_seed`, instead of
                    asking the players; in simultaneous games a
                    move is everybody's
    record_actions  keep what is needed to replay the game
    """

    game_count: int
    kind: GameKind
    seed: int
    seats: tuple[SeatPlan, ...]
    noise: tuple[int | str, ...]
    opening_plies: int = 0
    opening_seed: int = 0
    record_actions: bool = False
    greedy: bool = False
    pair: int | None = None


class ActionRequest(NamedTuple):
    """Rows of one policy that wait for an action: slab[role][slots[i], rows[i]] holds the
    observation.

    slots, rows [N] int64; keys [N] uint64, the noise key of game and seat; steps [N] uint64, the
    seat's decisions so far in this game.
    """

    policy: int
    role: int
    slots: NDArray[np.int64]
    rows: NDArray[np.int64]
    keys: NDArray[np.uint64]
    steps: NDArray[np.uint64]
    greedy: bool


class ActionsReady(NamedTuple):
    """The same rows, acted: actions, log-probabilities, values and versions stand in the slab."""

    policy: int
    role: int
    slots: NDArray[np.int64]
    rows: NDArray[np.int64]
    version: int


class SlotFull(NamedTuple):
    """A slot goes from the worker to the learner of `policy`."""

    role: int
    policy: int
    generation: int
    slot: int


class RolloutPermit(NamedTuple):
    """A slot comes back to the worker; new rows should be acted by `min_version` or later (0: no
    demand).
    """

    role: int
    slot: int
    generation: int
    min_version: int


class GameEnd(NamedTuple):
    """A game is over (or voided, then `reason` starts with "voided")."""

    table: int
    plan: GamePlan
    seats: tuple[SeatRecord, ...]
    steps: int
    frames: int
    reason: str
    trajectory_hash: str
    actions: bytes | None

    def record(self, number: int) -> GameRecord:
        """The fact that leaves the engine. number: the game's running number in its population
        or match.
        """
        plan = self.plan
        return GameRecord(
            number=number,
            environment=self.table,
            count=plan.game_count,
            kind=plan.kind,
            seed=plan.seed,
            seats=self.seats,
            steps=self.steps,
            frames=self.frames,
            end_reason=self.reason,
            trajectory_hash=self.trajectory_hash,
            actions=self.actions,
            opening_plies=plan.opening_plies,
            greedy=plan.greedy,
            pair=plan.pair,
        )


WorkerMessage = SlotFull | GameEnd
JsonState = dict[str, Any]
