"""The seats of a worker's tables as columns.

Seat s of the table at position p is entry p * P + s of every column, where P is the number of seats
of a game.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.sampling.answers import AnswerColumns
from pbt.transport.messages import UNKNOWN_VERSION, GamePlan, lineups_of

NO_SLOT = -1

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Seats:
    """Columns with an entry for each seat.

    Where no game is played at its table they hold what is left of the last one.

    role              index of its role, the same in every game
    policy            the player's index in the policy table
    generation        generation of the rows in the slot
    learning          whether its rows are trained on
    key               of its action noise in this game
    slot              slot of its present row, NO_SLOT where it has none
    row               its present row, which is next to be acted on, or pending
    first_row         row of the slot at which this game began, to which a voided game is rewound
    pending           the row is acted on and waits for its consequences
    episode_start     the next observation begins an episode
    over              the seat has had its last turn
    steps             decisions taken in this game, opening plies among them
    frames            engine ticks that it played
    returns           sum of its rewards of the first term
    acted             its player has chosen an action; opening plies are chosen by the game's seed
    version_start     learner version of its player's first action, UNKNOWN_VERSION where that is
                      not known
    version_end       learner version of its player's latest action
    weights           digest of the weights that answered last, -1 before the first answer
    began_generation  generation of its weights at the start of the game
    due               it acts in the move that is played now
    chosen            it is due, and has acted
    action            [seats, W] what it does next
    answers           (version, digest) of the weights that answered for a seat, each time that the
                      digest changed; nothing of a live network without a digest
    """

    def __init__(self, tables: int, roles: Sequence[int], width: int, dtype: np.dtype[Any]) -> None:
        """Seats of tables without a game.

        roles  by seat of a game
        width  W, the most parts of an action, and their dtype
        """
        count = tables * len(roles)
        self.per_table = len(roles)
        self.role = np.tile(np.array(roles, np.int64), tables)
        self.policy, self.generation = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.learning = np.zeros(count, np.bool_)
        self.key = np.zeros(count, np.uint64)
        self.slot = np.full(count, NO_SLOT, np.int64)
        self.row, self.first_row = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.pending, self.episode_start = np.zeros(count, np.bool_), np.ones(count, np.bool_)
        self.over, self.acted = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        self.steps, self.frames = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.returns = np.zeros(count, np.float64)
        self.version_start = np.full(count, UNKNOWN_VERSION, np.int64)
        self.version_end = np.zeros(count, np.int64)
        self.weights = np.full(count, -1, np.int64)
        self.began_generation = np.full(count, -1, np.int64)
        self.due, self.chosen = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        self.action = np.zeros((count, width), dtype)
        self.answers = AnswerColumns(count)

    def of(self, position: int) -> range:
        """The seats of the table at a position."""
        return range(position * self.per_table, (position + 1) * self.per_table)

    def at(self, positions: Indices) -> Indices:
        """The seats of tables, table by table."""
        return (positions[:, None] * self.per_table + np.arange(self.per_table)).reshape(-1)

    def begin(self, seats: Indices, plans: Sequence[GamePlan], keys: NDArray[np.uint64]) -> None:
        """Seat the players of next games. keys: of their action noise, by seat."""
        lineups, lineup = lineups_of(plans)
        told = np.array([[one[1:] for one in seated] for seated in lineups], np.int64)
        self.policy[seats], self.generation[seats], self.learning[seats] = (
            told[lineup].reshape(-1, 3).T
        )
        self.began_generation[seats] = self.generation[seats]
        self.key[seats] = keys
        self.pending[seats], self.over[seats], self.acted[seats] = False, False, False
        self.episode_start[seats] = True
        self.due[seats], self.chosen[seats] = False, False
        self.steps[seats], self.frames[seats], self.returns[seats] = 0, 0, 0.0
        self.version_start[seats], self.version_end[seats] = UNKNOWN_VERSION, 0
        self.weights[seats] = -1
        self.answers.clear(seats)

    def note_answers(self, seats: Indices, version: int, weights: int) -> None:
        """Note weights that have answered for these seats, which others answered before."""
        if weights or not version:
            self.answers.add(seats, version, weights)
