"""The tables of a worker: the game that is played at each, and how far it is."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from pbt.envs.actions import ActionSpec
from pbt.envs.contract import Action, Curricular, Game, SeatTurn
from pbt.errors import EnvError
from pbt.sampling.history import History
from pbt.sampling.seats import Indices, Seats
from pbt.transport.messages import GamePlan

NO_PLAN = GamePlan(-1, "training", 0, (), ())


class TableState:
    """How far the games are, by position of the table.

    seats    see `Seats`
    history  the actions of every game
    playing  [tables] a game is played
    due      [tables] seats that must act before the game can be stepped
    came     [tables] those of them that have acted
    steps    [tables] decisions of all seats
    moves    [tables] calls of the game's step, each with the decisions of all seats that were due
    opening  [tables] moves at the start of the game that are drawn from its seed
    greedy   [tables] the players take their likeliest actions
    count    [tables] number of the game at its table
    number   [tables] of the table in the whole run
    """

    def __init__(self, numbers: Sequence[int], game: Game) -> None:
        """Tables without a game that runs. game: one of theirs, which says what seats do."""
        count = len(numbers)
        own = [ActionSpec.of(role.action_space) for role in game.roles]
        self.history = History(count, [own[role] for role in game.seat_roles])
        self.seats = Seats(count, game.seat_roles, self.history.width, self.history.dtype)
        self.playing, self.greedy = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        self.due, self.came = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.steps, self.moves = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.opening, self.count = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.number = np.array(numbers, np.int64)

    def begin(
        self, positions: Indices, plans: Sequence[GamePlan], keys: NDArray[np.uint64]
    ) -> None:
        """Make tables ready for their next games. keys: of all seats' action noise."""
        self.seats.begin(self.seats.at(positions), plans, keys)
        self.history.clear(positions)
        self.playing[positions] = True
        self.due[positions], self.came[positions] = 0, 0
        self.steps[positions], self.moves[positions] = 0, 0
        self.greedy[positions] = [plan.greedy for plan in plans]
        self.opening[positions] = [plan.opening_plies for plan in plans]
        self.count[positions] = [plan.game_count for plan in plans]

    def origins(self, seats: NDArray[np.int64]) -> NDArray[np.int64]:
        """[N, 4], (table, game count, seat, step) of the present rows of seats."""
        position, found = seats // self.seats.per_table, np.empty((len(seats), 4), np.int64)
        found[:, 0], found[:, 1] = self.number[position], self.count[position]
        found[:, 2] = seats - position * self.seats.per_table
        found[:, 3] = self.seats.steps[seats]
        return found


@dataclass(slots=True)
class Table:
    """A table of a worker.

    index     its number in the whole run
    position  among the tables of its worker
    game      the game object, used for one game after another
    state     how far the games of all tables of the worker are
    plan      the plan of the running game
    crashes   engines that ended since the last finished game
    levels    by table of the whole run, the level of its next game of the training where games have
              a curriculum (`contract.Curricular`), 0 before the first
    """

    index: int
    position: int
    game: Game
    state: TableState
    plan: GamePlan = NO_PLAN
    crashes: int = 0
    levels: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    _has_curriculum: bool = field(init=False)

    def __post_init__(self) -> None:
        # To ask this of a game takes as long as a move of a light one does.
        self._has_curriculum = isinstance(self.game, Curricular)

    @property
    def playing(self) -> bool:
        """Whether a game is played here."""
        return bool(self.state.playing[self.position])

    @property
    def steps(self) -> int:
        """Decisions of all seats in the running game."""
        return int(self.state.steps[self.position])

    @property
    def moves(self) -> int:
        """Moves of the running game."""
        return int(self.state.moves[self.position])

    @property
    def due(self) -> int:
        """Seats that must act before the game can be stepped."""
        return int(self.state.due[self.position])

    @property
    def seats(self) -> range:
        """Its seats among those of the worker."""
        return self.state.seats.of(self.position)

    @property
    def curriculum(self) -> Curricular | None:
        """The game, where it has a curriculum and is one of a training."""
        if not self._has_curriculum or self.plan.kind != "training":
            return None
        game = cast("Curricular", self.game)
        return game if game.follows_results else None

    def begin(self) -> list[SeatTurn]:
        """Start the planned game; one with a curriculum is told its level."""
        if (curriculum := self.curriculum) is not None:
            curriculum.train_at(float(self.levels[self.index]))
        return self.game.reset(self.plan.seed)

    def note_level(self) -> None:
        """Note how hard the next game is, after one that is over and says how its players do.

        Raises: EnvError for a level that is no finite number.
        """
        if (curriculum := self.curriculum) is not None and not self.plan.decorrelates:
            level = curriculum.next_level()
            if not math.isfinite(level):
                raise EnvError(f"{self.where}: next_level() gave {level}; expected a finite number")
            self.levels[self.index] = level

    @property
    def where(self) -> str:
        """The running game in words, for messages."""
        return f"game {self.plan.game_count} at table {self.index} (seed {self.plan.seed})"

    def actions(self) -> list[tuple[int, Action]]:
        """(seat, action) of every action of the running game."""
        (packed,) = self.state.history.packed(np.array([self.position]))
        return self.state.history.packing.unpack(packed)


def new_tables(
    numbers: Sequence[int], make_game: Callable[[int], Game], levels: NDArray[np.float64] | None
) -> list[Table]:
    """Tables, one at least, without a game that runs.

    levels     see `Table.levels`; None: they are of these alone
    make_game  makes the game of the table with this number
    """
    if levels is None:
        levels = np.zeros(max(numbers, default=-1) + 1)
    games = [make_game(number) for number in numbers]
    state = TableState(numbers, games[0])
    return [
        Table(number, position, game, state, levels=levels)
        for position, (number, game) in enumerate(zip(numbers, games, strict=True))
    ]
