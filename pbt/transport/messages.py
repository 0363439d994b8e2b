"""Every message between the components: small, of plain values, without observations.

A message that names a slot hands that slot over to its receiver (docs/slots.md).
"""

from collections.abc import Iterable, Iterator, Sequence
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pbt.records import GameKind, GameRecord, PlayerRef, SeatRecord

UNKNOWN_VERSION = -1
"""Of a seat without an action, or whose first action is not known."""
DECORRELATION = "decorrelation"
"""Begins the noise key of games that `pbt.sampling.decorrelation` begins."""


class SeatPlan(NamedTuple):
    """The player of one seat in a planned game.

    policy      index in the policy table
    generation  of the player's weights
    learning    whether the seat's rows are trained on
    """

    player: PlayerRef
    policy: int
    generation: int
    learning: bool


class GamePlan(NamedTuple):
    """One game to be played at a table.

    game_count      the table's running number of this game; (table, game_count) identifies it
    kind            what the game is played for
    seed            seed of the game's own chance
    seats           the player of every seat
    noise           key of the players' action noise, together with the seat
    opening_plies   number of moves at the start that are drawn uniformly from the legal ones
                    instead of asking the players; in simultaneous games all seats share a move
    opening_seed    seed of these moves
    record_actions  whether to keep what is needed to replay the game
    greedy          whether the players take their likeliest action instead of sampling one
    pair            number of the pair that the game belongs to, None for a single game
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

    @property
    def decorrelates(self) -> bool:
        """Its opening sets the table apart from others; the game is neither scored nor told of."""
        return self.noise[:1] == (DECORRELATION,)


def lineups_of(plans: Iterable[GamePlan]) -> tuple[list[tuple[SeatPlan, ...]], list[int]]:
    """The distinct plans for the seats of games, and for each game the index of its own.

    Games with equal players mostly have one and the same tuple of them; others count as distinct.
    """
    own = [plan.seats for plan in plans]
    distinct = {id(seats): seats for seats in own}
    index = {key: place for place, key in enumerate(distinct)}
    return list(distinct.values()), [index[id(seats)] for seats in own]


class ActionRequest(NamedTuple):
    """Rows of one policy that wait for an action.

    policy  index in the policy table
    role    index of the slab
    slots   [N] int64; the observation of entry i stands at [slots[i], rows[i]] of the slab
    rows    [N] int64
    keys    [N] uint64, the noise key of game and seat
    steps   [N] uint64, decisions of the seat so far in this game
    greedy  whether to take the likeliest action instead of sampling one
    """

    policy: int
    role: int
    slots: NDArray[np.int64]
    rows: NDArray[np.int64]
    keys: NDArray[np.uint64]
    steps: NDArray[np.uint64]
    greedy: bool


def joined(requests: Sequence[ActionRequest]) -> ActionRequest:
    """One request with the rows of several, in order; the rest is that of the first."""
    if len(requests) == 1:
        return requests[0]
    return requests[0]._replace(
        slots=np.concatenate([one.slots for one in requests]),
        rows=np.concatenate([one.rows for one in requests]),
        keys=np.concatenate([one.keys for one in requests]),
        steps=np.concatenate([one.steps for one in requests]),
    )


class ActionsReady(NamedTuple):
    """The answer to a request: actions, log-probabilities, values and versions are in the slab.

    policy, role, slots and rows are those of the request.

    version  of the weights that acted
    weights  their digest (`pbt.models.digests`); 0 where none was taken
    """

    policy: int
    role: int
    slots: NDArray[np.int64]
    rows: NDArray[np.int64]
    version: int
    weights: int = 0


class SlotFull(NamedTuple):
    """A slot goes from the worker to the learner of `policy`."""

    role: int
    policy: int
    generation: int
    slot: int


class RolloutPermit(NamedTuple):
    """A slot release: the learner gives a slot back to its worker."""

    role: int
    slot: int


class GameEnd(NamedTuple):
    """A game is over or was voided; the `reason` of a voided one starts with "voided".

    answers  by seat, (version, digest) of the weights that answered for it, each time that they
             changed; of a live member only where a digest was taken
    """

    table: int
    plan: GamePlan
    seats: tuple[SeatRecord, ...]
    steps: int
    frames: int
    reason: str
    trajectory_hash: str
    actions: bytes | None
    answers: tuple[tuple[tuple[int, int], ...], ...] = ()

    def record(self, number: int) -> GameRecord:
        """The game's record for the world outside the engine.

        number: the game's running number in its population or match.
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


class GamesOver(NamedTuple):
    """Training games of one worker that are over, none of them voided: N games of S seats each.

    They are columns with an entry for each game, in the order in which the games ended. The columns
    from `generations` on have S entries for each game.

    tables          numbers of the tables
    counts          running numbers of the games at their tables
    seeds           seeds of the games' own chance
    openings        numbers of moves that were drawn from the seed
    lineups         the distinct plans for the seats; the other column says which a game has
    lineup          indices into `lineups`
    steps           decisions of all seats
    frames          ticks that all seats played, added up
    reasons         how the games ended
    hashes          hashes of the games' actions
    generations     generation of the player's weights at the start of the game
    first_versions  learner version of a member's first action, UNKNOWN_VERSION where it took none
    last_versions   learner version of its latest action
    places          0 is the best
    returns         unshaped sums of rewards
    points          the games' own counts, not a number where one keeps none; empty where none do
    answers         (entry of the columns of seats, version, digest) of weights that answered, each
                    time that they changed; of a live member only where a digest was taken
    """

    tables: list[int]
    counts: list[int]
    seeds: list[int]
    openings: list[int]
    lineups: list[tuple[SeatPlan, ...]]
    lineup: list[int]
    steps: list[int]
    frames: list[int]
    reasons: list[str]
    hashes: list[str]
    generations: list[int]
    first_versions: list[int]
    last_versions: list[int]
    places: list[int]
    returns: list[float]
    points: list[float]
    answers: list[tuple[int, int, int]]

    @property
    def seats(self) -> int:
        """Of a game."""
        return len(self.lineups[0])

    def by_game(self) -> Iterator[tuple[int, list[int], list[int], list[float]]]:
        """(index into `lineups`; generations, places and returns by seat) of each game."""
        size = self.seats
        for lineup, start in zip(self.lineup, range(0, len(self.returns), size), strict=True):
            own = slice(start, start + size)
            yield lineup, self.generations[own], self.places[own], self.returns[own]

    def records(self, first: int) -> list[GameRecord]:
        """A record of each game. first: the number of the first one in the population."""
        size, seats = self.seats, self._seats()
        return [
            GameRecord(
                number=first + at,
                environment=self.tables[at],
                count=self.counts[at],
                kind="training",
                seed=self.seeds[at],
                seats=tuple(seats[at * size : (at + 1) * size]),
                steps=self.steps[at],
                frames=self.frames[at],
                end_reason=self.reasons[at],
                trajectory_hash=self.hashes[at],
                opening_plies=self.openings[at],
            )
            for at in range(len(self.tables))
        ]

    def _seats(self) -> list[SeatRecord]:
        """The seats of all games."""
        players = [seat.player for which in self.lineup for seat in self.lineups[which]]
        members = [player.kind == "member" for player in players]
        began = map(began_version, self.first_versions, members)
        points = [None if isnan(one) else one for one in self.points] or [None] * len(players)
        columns = self.generations, began, self.last_versions, self.places, self.returns, points
        return [SeatRecord(*seat) for seat in zip(players, *columns, strict=True)]


def began_version(first: int, is_member: bool) -> int | None:
    """`SeatRecord.version_start` of a seat whose first action was of this version."""
    known = None if first == UNKNOWN_VERSION else first
    return known if is_member else 0


WorkerMessage = SlotFull | GamesOver | GameEnd
JsonState = dict[str, Any]
