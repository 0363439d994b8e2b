"""One table of the worker: the game being played at it and who sits where."""

from dataclasses import dataclass, field

import numpy as np

from pbt.envs.contract import Game, SeatTurn
from pbt.records import PlayerRef, SeatRecord
from pbt.seeding import uniform
from pbt.transport.messages import GamePlan

NO_SLOT = -1


@dataclass(slots=True)
class Seat:
    """A seat of a running game.

    key             of the seat's action noise in this game
    slot, row       where its next (or pending) row stands;  pending: the row is acted on and waits
                    for its consequences
    first_row       row of the current slot at which this game began, so a voided game can be
                    rewound
    episode_start   the next observation begins an episode
    steps           decisions taken in this game
    generation      that of the rows in the slot;  began_generation: at the start of the game
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
    version_start: int = 0
    version_end: int = 0
    began_generation: int = -1
    place: int = 0
    points: float | None = None

    def record(self) -> SeatRecord:
        return SeatRecord(
            self.player,
            self.began_generation,
            self.version_start,
            self.version_end,
            self.place,
            self.returns,
            self.points,
        )


NO_PLAN = GamePlan(-1, "training", 0, (), ())


@dataclass(slots=True)
class Table:
    """A table, its game and the moves made so far.

    due      seats that must act before the game can be stepped;  actions: those that have
    history  (seat, heads...) of every action, flat: move by move, those of one move in the order of
             seats (of the running one: as they came)
    steps    decisions of all seats;  moves: calls of the game's step, each with the decisions of
             all seats that were due
    crashes  of its engines since the last game that was finished
    """

    index: int
    game: Game
    plan: GamePlan = NO_PLAN
    seats: list[Seat] = field(default_factory=list)
    due: int = 0
    actions: dict[int, tuple[int, ...]] = field(default_factory=dict)
    history: list[int] = field(default_factory=list)
    steps: int = 0
    moves: int = 0
    crashes: int = 0

    def clear(self, plan: GamePlan) -> None:
        """Make the table ready for its next game."""
        self.plan, self.due, self.steps, self.moves = plan, 0, 0, 0
        self.seats, self.actions, self.history = [], {}, []

    def take_actions(self) -> dict[int, tuple[int, ...]]:
        """The actions of a complete move, by seat in ascending order: whose answer came first
        must not show in the game or its history.
        """
        actions, self.actions = self.actions, {}
        seats = sorted(actions)
        if seats != list(actions):
            actions = {seat: actions[seat] for seat in seats}
            ordered = [number for seat, action in actions.items() for number in (seat, *action)]
            self.history[-len(ordered) :] = ordered
        return actions

    @property
    def where(self) -> str:
        """The running game, in words."""
        return f"game {self.plan.game_count} at table {self.index} (seed {self.plan.seed})"

    def packed_history(self) -> bytes:
        """The history as little-endian uint16."""
        return np.asarray(self.history, dtype="<u2").tobytes()


def unpack_actions(
    packed: bytes, heads_of_seat: tuple[int, ...]
) -> list[tuple[int, tuple[int, ...]]]:
    """(seat, one index per head) of every action, in order; the reverse of
    `Table.packed_history`.
    """
    flat = np.frombuffer(packed, dtype="<u2").tolist()
    actions, at = [], 0
    while at < len(flat):
        heads = heads_of_seat[flat[at]]
        actions.append((flat[at], tuple(flat[at + 1 : at + 1 + heads])))
        at += 1 + heads
    return actions


def opening_action(
    seed: int, ply: int, turn: SeatTurn, head_sizes: tuple[int, ...]
) -> tuple[int, ...]:
    """A uniformly random legal action that depends on the seed, the ply and the seat only: both
    games of a pair open alike.
    """
    action, start = [], 0
    for head, size in enumerate(head_sizes):
        legal = (
            range(size) if turn.mask is None else np.flatnonzero(turn.mask[start : start + size])
        )
        action.append(int(legal[int(uniform(seed, "opening", ply, turn.seat, head) * len(legal))]))
        start += size
    return tuple(action)
