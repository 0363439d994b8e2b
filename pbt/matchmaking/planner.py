"""The planner chooses the next game of every table of a training run: its players and its seeds.

A plan depends on (run seed, table, count) and on stored state only. Several planners may share a
run. Each plans for its own tables, and all follow the same roster.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.inference.frozen import FrozenPool, Seated
from pbt.matchmaking.past import PastRules
from pbt.matchmaking.roster import Roster
from pbt.matchmaking.seats import (
    SELF_PLAY_SHARE,
    owner_of_table,
    seat_evaluation_game,
    seat_training_game,
)
from pbt.records import PlayerRef
from pbt.seeding import generator, integer
from pbt.transport.messages import GamePlan, JsonState, SeatPlan


@dataclass(frozen=True)
class GameFacts:
    """What the planner must know of the game.

    seat_roles       role name of every seat
    role_index       index of every role by its name
    random_openings  whether evaluation games begin with random moves
    scripted         names of the game's scripted players
    self_play        whether evaluation games also show how a player does with copies of itself
    """

    seat_roles: tuple[str, ...]
    role_index: dict[str, int]
    random_openings: bool
    scripted: tuple[str, ...]
    self_play: bool = False


class TrainingPlanner:
    """Plans training games around learning members, and a share of evaluation games.

    An evaluation game is played during training, between frozen players only. When no member learns
    any more, the planner hands out `closing_games` more of them, then nothing.

    on_generation  called with the policy and the new generation when a member's weights were
                   replaced, so that their rows are dropped
    """

    def __init__(
        self,
        config: RunConfig,
        facts: GameFacts,
        roster: Roster,
        frozen: FrozenPool,
        tables: Sequence[int],
        counts: NDArray[np.int64],
        closing_games: int,
    ) -> None:
        """Plan for some of the tables.

        frozen         the policy slots for frozen players
        tables         numbers of the tables that this planner plans for
        counts         [all tables] games so far; the planner writes those of its own tables only
        closing_games  evaluation games to hand out after the last member has stopped learning
        """
        self._config, self._facts, self._frozen = config, facts, frozen
        self._past = PastRules.from_config(config.matchmaking)
        self._tables, self._counts = tuple(tables), counts
        self._evaluated: Counter[str] = Counter()
        self._closing_played = 0
        self._closing_total = closing_games
        self.on_generation: Callable[[int, int], None] = lambda policy, generation: None
        self._follow(roster)

    # --- who plays --------------------------------------------------------------------------------

    @property
    def roster(self) -> Roster:
        return self._roster

    @roster.setter
    def roster(self, roster: Roster) -> None:
        """Plan by it from now on, and call `on_generation` for members with new weights."""
        before = self._members
        if roster.learning and not self._roster.learning:
            self._closing_played = 0
        self._follow(roster)
        for name, member in self._members.items():
            if name in before and member.generation != before[name].generation:
                self.on_generation(member.policy, member.generation)

    def _follow(self, roster: Roster) -> None:
        self._roster = roster
        self._members = {member.name: member for member in roster.members}

    def close_with(self, games: int) -> None:
        """Hand out `games` more evaluation games once no member learns."""
        self._closing_total = self._closing_played + games

    def needed(self) -> set[str]:
        """Ids of the snapshots that a next game may seat, or that are seated now.

        Removing any other snapshot changes no game.
        """
        return self._roster.snapshot_ids() | self._frozen.seated()

    @property
    def closing_games(self) -> int:
        """Evaluation games that are still to be handed out once no member learns."""
        return max(0, self._closing_total - self._closing_played)

    # --- what the worker asks ---------------------------------------------------------------------

    def next_game(self, table: int) -> GamePlan | None:
        """The next game of a table; None when there is nothing (yet) to play."""
        seed, count = self._config.seed, int(self._counts[table])
        block = self._config.sampling.seat_block
        rng = generator(seed, "game", table // block * block, count)
        evaluation = rng.random() < self._roster.evaluation_share
        if self._roster.learning:
            players = self._evaluation_players(rng) if evaluation else None
            evaluation = players is not None
            players = players or self._training_players(rng, table)
        elif self.closing_games:
            evaluation, players = True, self._evaluation_players(rng)
        else:
            return None
        seats = self._seat(players, evaluation) if players else None
        if seats is None:
            return None
        self._counts[table] += 1
        game_seed = integer(seed, "game seed", table, count, bits=31)
        noise = ("action", table, count)
        if not evaluation:
            # Tables of one block draw the same players but different openings.
            own = rng if block == 1 else generator(seed, "opening", table, count)
            opening = int(own.integers(self._config.sampling.opening_plies + 1))
            return GamePlan(count, "training", game_seed, seats, noise, opening, game_seed)
        if not self._roster.learning:
            self._closing_played += 1
        self._evaluated.update(player.name for player in players or () if player.kind == "snapshot")
        opening = self._config.evaluation.opening_plies if self._facts.random_openings else 0
        return GamePlan(
            count, "evaluation", game_seed, seats, noise, opening, game_seed, record_actions=True
        )

    def game_over(self, plan: GamePlan) -> None:
        """The game was finished or voided; its frozen players may be evicted."""
        self._frozen.release(self._frozen_seats([seat.player for seat in plan.seats]))

    def _training_players(self, rng: np.random.Generator, table: int) -> tuple[PlayerRef, ...]:
        members = self._roster.members
        if len(self._facts.seat_roles) == 1:
            players = [entry.name for entry in members if entry.role == self._facts.seat_roles[0]]
            owner = owner_of_table(table, len(self._counts), players)
            if owner is not None and self._members[owner].learning:
                return (PlayerRef("member", owner),)
        snapshots, win_rates = self._roster.snapshots, self._roster.win_rates
        return seat_training_game(
            rng, self._facts.seat_roles, members, snapshots, self._past, win_rates
        )

    def _evaluation_players(self, rng: np.random.Generator) -> tuple[PlayerRef, ...] | None:
        return seat_evaluation_game(
            rng,
            self._facts.seat_roles,
            self._roster.snapshots,
            self._facts.scripted,
            self._evaluated,
            SELF_PLAY_SHARE if self._facts.self_play else 0.0,
        )

    def _seat(
        self, players: tuple[PlayerRef, ...], evaluation: bool
    ) -> tuple[SeatPlan, ...] | None:
        frozen = self._frozen.acquire(self._frozen_seats(players))
        if frozen is None:
            return None
        slots = iter(frozen)
        return tuple(
            self._live(player)
            if player.kind == "member"
            else SeatPlan(player, next(slots), 0, False)
            for player in players
        )

    def _live(self, player: PlayerRef) -> SeatPlan:
        member = self._members[player.name]
        return SeatPlan(player, member.policy, member.generation, member.learning)

    def _frozen_seats(self, players: Sequence[PlayerRef]) -> list[Seated]:
        roles = zip(players, self._facts.seat_roles, strict=True)
        return [
            (player, self._facts.role_index[role])
            for player, role in roles
            if player.kind != "member"
        ]

    # --- resume -----------------------------------------------------------------------------------

    def state(self) -> JsonState:
        return planner_state(
            self._roster, self._counts.tolist(), self._evaluated, self._closing_played
        )

    def load(self, state: JsonState) -> None:
        if len(state["counts"]) != len(self._counts):
            raise EngineError(
                f"the checkpoint counts the games of {len(state['counts'])} tables; there "
                f"are {len(self._counts)}"
            )
        for table in self._tables:
            self._counts[table] = state["counts"][table]
        self._evaluated = Counter(state["evaluated"])
        self._closing_played = state["closing_played"]
        self._follow(self._roster.resumed(state))

    def gone(self, plan: GamePlan) -> str:
        """Name of the plan's first live player that is no member any more, "" if there is none."""
        return next(
            (
                seat.player.name
                for seat in plan.seats
                if seat.player.kind == "member" and seat.player.name not in self._members
            ),
            "",
        )

    def reseat(self, plan: GamePlan) -> GamePlan:
        """A stored plan with its frozen players loaded again, perhaps into other policy slots.

        Raises EngineError when this planner has fewer policy slots than its open games need.
        """
        players = tuple(seat.player for seat in plan.seats)
        acquired = self._frozen.acquire(self._frozen_seats(players))
        if acquired is None:
            raise EngineError(
                "the checkpoint's open games seat more frozen players than one worker has places "
                "for; resume with more workers, or a larger matchmaking.resident"
            )
        frozen = iter(acquired)
        seats = tuple(
            seat if seat.player.kind == "member" else seat._replace(policy=next(frozen))
            for seat in plan.seats
        )
        return plan._replace(seats=seats)


def planner_state(
    roster: Roster, counts: Sequence[int], evaluated: Mapping[str, int], closing_played: int
) -> JsonState:
    """What a checkpoint keeps of matchmaking.

    counts          games so far, by table
    evaluated       evaluation games so far, by snapshot
    closing_played  games of the final evaluation so far
    """
    games = {"counts": list(counts), "evaluated": dict(evaluated), "closing_played": closing_played}
    return {**games, **roster.state()}
