"""A table of the worker: the game that is played at it, its seats and the moves made so far."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pbt.envs.actions import ActionSpec, GamePacking
from pbt.envs.contract import Action, Curricular, Game, SeatTurn
from pbt.errors import EnvError
from pbt.records import PlayerRef, SeatRecord
from pbt.seeding import uniform
from pbt.transport.messages import GameEnd, GamePlan

NO_SLOT = -1


@dataclass(slots=True)
class Seat:
    """A seat of a running game.

    index             its number in the game
    role              index of its role
    player            the player that sits here
    policy            the player's index in the policy table
    generation        generation of the rows in the slot
    learning          whether its rows are trained on
    key               of its action noise in this game
    slot              slot of its present row
    row               its present row, which is next to be acted on, or pending
    first_row         row of the slot at which this game began, to which a voided game is rewound
    pending           the row is acted on and waits for its consequences
    episode_start     the next observation begins an episode
    over              the seat has had its last turn
    steps             decisions taken in this game, opening plies among them
    frames            engine ticks that it played
    returns           sum of its rewards of the first term
    acted             its player has chosen an action; opening plies are chosen by the game's seed
    version_start     learner version of its player's first action, None where that is not known
    version_end       learner version of its player's latest action
    weights           digest of the weights that answered last, -1 before the first answer
    answers           (version, digest) of the weights that answered, each time that the digest
                      changed; a digest is 0 where none was taken
    began_generation  generation of its weights at the start of the game
    place             its place in the outcome
    points            its points in the outcome, None in games without points
    """

    index: int
    role: int
    player: PlayerRef
    policy: int
    generation: int
    learning: bool
    key: int
    slot: int = NO_SLOT
    row: int = 0
    first_row: int = 0
    pending: bool = False
    episode_start: bool = True
    over: bool = False
    steps: int = 0
    frames: int = 0
    returns: float = 0.0
    acted: bool = False
    version_start: int | None = None
    version_end: int = 0
    weights: int = -1
    answers: list[tuple[int, int]] = field(default_factory=list)
    began_generation: int = -1
    place: int = 0
    points: float | None = None

    def witness(self) -> tuple[tuple[int, int], ...]:
        """The answers of `GameEnd.answers`."""
        if self.player.kind != "member":
            return tuple(self.answers)
        return tuple((version, weights) for version, weights in self.answers if weights)

    def record(self) -> SeatRecord:
        return SeatRecord(
            self.player,
            self.began_generation,
            self.version_start if self.player.kind == "member" else 0,
            self.version_end,
            self.place,
            self.returns,
            self.points,
        )


NO_PLAN = GamePlan(-1, "training", 0, (), ())


@dataclass(slots=True)
class Table:
    """A table, its game and the moves made so far.

    index    its number in the whole run
    game     the game object, used for one game after another
    packing  packs the actions of its games
    plan     the plan of the running game
    seats    the seats of the running game
    due      number of seats that must act before the game can be stepped
    actions  actions of the running move by seat, in the order in which they came
    history  (seat, parts...) of every action in one flat list: move by move, and within a move in
             the order of seats; those of the running move in the order in which they came
    steps    decisions of all seats
    moves    calls of the game's step, each with the decisions of all seats that were due
    crashes  engines that ended since the last finished game
    levels   by table of the whole run, the level of its next game of the training where games have
             a curriculum (`contract.Curricular`), 0 before the first
    """

    index: int
    game: Game
    packing: GamePacking
    plan: GamePlan = NO_PLAN
    seats: list[Seat] = field(default_factory=list)
    due: int = 0
    actions: dict[int, Action] = field(default_factory=dict)
    history: list[Any] = field(default_factory=list)
    steps: int = 0
    moves: int = 0
    crashes: int = 0
    levels: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    _has_curriculum: bool = field(init=False)

    def __post_init__(self) -> None:
        # To ask this of a game takes as long as a move of a light one does.
        self._has_curriculum = isinstance(self.game, Curricular)

    def clear(self, plan: GamePlan) -> None:
        """Make the table ready for its next game."""
        self.plan, self.due, self.steps, self.moves = plan, 0, 0, 0
        self.seats, self.actions, self.history = [], {}, []

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
        """Note how hard the next game is, after one that is over.

        Raises: EnvError for a level that is no finite number.
        """
        if (curriculum := self.curriculum) is not None:
            level = curriculum.next_level()
            if not math.isfinite(level):
                raise EnvError(f"{self.where}: next_level() gave {level}; expected a finite number")
            self.levels[self.index] = level

    def take_actions(self) -> dict[int, Action]:
        """The actions of a complete move by seat, in ascending order.

        The order of the answers must not show in the game or in its history.
        """
        actions, self.actions = self.actions, {}
        seats = sorted(actions)
        if seats != list(actions):
            actions = {seat: actions[seat] for seat in seats}
            ordered = [part for seat, action in actions.items() for part in (seat, *action)]
            self.history[-len(ordered) :] = ordered
        return actions

    def origin(self, seat: Seat) -> tuple[int, int, int, int]:
        """(table, game count, seat, step) of the seat's present row."""
        return self.index, self.plan.game_count, seat.index, seat.steps

    @property
    def where(self) -> str:
        """The running game in words, for messages."""
        return f"game {self.plan.game_count} at table {self.index} (seed {self.plan.seed})"

    def packed_history(self) -> bytes:
        """The history as bytes, which `packing` reads."""
        return self.packing.pack(self.history)

    def end(self, reason: str) -> GameEnd:
        """The message that the running game is over, or was voided."""
        history = self.packed_history()
        return GameEnd(
            self.index,
            self.plan,
            tuple(seat.record() for seat in self.seats),
            self.steps,
            sum(seat.frames for seat in self.seats),
            reason,
            hashlib.blake2b(history, digest_size=8).hexdigest(),
            history if self.plan.record_actions else None,
            tuple(seat.witness() for seat in self.seats),
        )


def new_tables(
    numbers: Sequence[int], make_game: Callable[[int], Game], levels: NDArray[np.float64] | None
) -> list[Table]:
    """Tables without a game that runs. levels: see `Table.levels`; None: they are of these alone.

    make_game  makes the game of the table with this number
    """
    if levels is None:
        levels = np.zeros(max(numbers, default=-1) + 1)
    games = [(number, make_game(number)) for number in numbers]
    return [Table(number, game, GamePacking.of(game), levels=levels) for number, game in games]


def opening_action(seed: int, ply: int, turn: SeatTurn, spec: ActionSpec) -> Action:
    """A random legal action, as the player "random" draws it.

    It depends on the seed, the ply and the seat only, so both games of a pair open alike.
    """
    uniforms = [uniform(seed, "opening", ply, turn.seat, part) for part in range(spec.width)]
    return spec.drawn(turn.mask, uniforms)
