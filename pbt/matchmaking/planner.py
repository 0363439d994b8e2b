"""The planner chooses the next game of every table of a training run: its players and its seeds.

A plan depends on (run seed, table, count) and on stored state only. Several planners may share a
run. Each plans for its own tables, and all get the same news of members and snapshots.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.inference.frozen import FrozenPool, Seated
from pbt.matchmaking.past import PastRules, WinRates
from pbt.matchmaking.seats import (
    SELF_PLAY_SHARE,
    MemberEntry,
    SnapshotEntry,
    owner_of_table,
    past_candidates,
    seat_evaluation_game,
    seat_training_game,
)
from pbt.records import PlayerRef
from pbt.seeding import generator, integer
from pbt.transport.messages import GamePlan, JsonState, SeatPlan


@dataclass
class MemberPolicy:
    """A member as the planner sees it.

    entry       its name and role, and whether it learns
    policy      its index in the policy table
    generation  of its weights
    """

    entry: MemberEntry
    policy: int
    generation: int = 0


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
        live_members: Sequence[MemberPolicy],
        frozen: FrozenPool,
        tables: Sequence[int],
        counts: NDArray[np.int64],
        closing_games: int,
    ) -> None:
        """live_members: the members.

        frozen         the policy slots for frozen players
        tables         numbers of the tables that this planner plans for
        counts         [all tables] games so far; the planner writes those of its own tables only
        closing_games  evaluation games to hand out after the last member has stopped learning
        """
        self._config, self._facts, self._frozen = config, facts, frozen
        self._past = PastRules.from_config(config.matchmaking)
        self._win_rates: WinRates = {}
        self._evaluation_share = config.evaluation.share
        self._tables, self._counts = tuple(tables), counts
        self._live_members = {live.entry.name: live for live in live_members}
        self._snapshots: list[SnapshotEntry] = []
        # Snapshots that a next game may seat. They stay few, however old the population is.
        self._seatable: list[SnapshotEntry] = []
        self._evaluated: Counter[str] = Counter()
        self._closing_played = 0
        self._closing_total = closing_games
        self.on_generation: Callable[[int, int], None] = lambda policy, generation: None

    # --- what the controller tells ----------------------------------------------------------------

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        self._snapshots.append(entry)
        self._find_seatable()

    def remove_snapshots(self, snapshot_ids: set[str]) -> None:
        self._snapshots = [
            entry for entry in self._snapshots if entry.snapshot_id not in snapshot_ids
        ]
        self._find_seatable()

    def set_win_rates(self, win_rates: WinRates) -> None:
        self._win_rates = win_rates

    def set_evaluation_share(self, share: float) -> None:
        self._evaluation_share = share

    def set_generation(self, member: str, generation: int) -> None:
        live = self._live_members[member]
        live.generation = generation
        self.on_generation(live.policy, generation)

    def set_learning(self, member: str, learning: bool) -> None:
        live = self._live_members[member]
        live.entry = MemberEntry(live.entry.name, live.entry.role, learning)
        if learning:
            self._closing_played = 0

    def close_with(self, games: int) -> None:
        """Hand out `games` more evaluation games once no member learns."""
        self._closing_total = self._closing_played + games

    def needed(self) -> set[str]:
        """Ids of the snapshots that a next game may seat, or that are seated now.

        Removing any other snapshot changes no game.
        """
        return {entry.snapshot_id for entry in self._seatable} | self._frozen.seated()

    def _find_seatable(self) -> None:
        """Choose the seatable snapshots.

        They are the candidates of training games, and each member's two newest ones, which meet in
        evaluation games.
        """
        chosen: set[str] = set()
        for role in self._facts.role_index:
            chosen.update(past_candidates(self._snapshots, role, self._past))
        for member in self._live_members:
            chosen.update(
                entry.snapshot_id
                for entry in [entry for entry in self._snapshots if entry.member == member][-2:]
            )
        self._seatable = [entry for entry in self._snapshots if entry.snapshot_id in chosen]

    @property
    def learning(self) -> bool:
        """At least one member still learns."""
        return any(live.entry.learning for live in self._live_members.values())

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
        evaluation = rng.random() < self._evaluation_share
        if self.learning:
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
        if not self.learning:
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
        members = [live.entry for live in self._live_members.values()]
        if len(self._facts.seat_roles) == 1:
            players = [entry.name for entry in members if entry.role == self._facts.seat_roles[0]]
            owner = owner_of_table(table, len(self._counts), players)
            if owner is not None and self._live_members[owner].entry.learning:
                return (PlayerRef("member", owner),)
        return seat_training_game(
            rng, self._facts.seat_roles, members, self._seatable, self._past, self._win_rates
        )

    def _evaluation_players(self, rng: np.random.Generator) -> tuple[PlayerRef, ...] | None:
        return seat_evaluation_game(
            rng,
            self._facts.seat_roles,
            self._seatable,
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
        live = self._live_members[player.name]
        return SeatPlan(player, live.policy, live.generation, live.entry.learning)

    def _frozen_seats(self, players: Sequence[PlayerRef]) -> list[Seated]:
        roles = zip(players, self._facts.seat_roles, strict=True)
        return [
            (player, self._facts.role_index[role])
            for player, role in roles
            if player.kind != "member"
        ]

    # --- resume -----------------------------------------------------------------------------------

    def state(self) -> JsonState:
        return {
            "counts": self._counts.tolist(),
            "evaluated": dict(self._evaluated),
            "closing_played": self._closing_played,
            "snapshots": [
                [entry.snapshot_id, entry.member, entry.role] for entry in self._snapshots
            ],
            "entrants": {
                name: [live.generation, live.entry.learning]
                for name, live in self._live_members.items()
            },
            "win_rates": self._win_rates,
        }

    def load(self, state: JsonState) -> None:
        if len(state["counts"]) != len(self._counts):
            raise EngineError(
                f"the checkpoint counts the games of {len(state['counts'])} tables; there "
                f"are {len(self._counts)}"
            )
        for table in self._tables:
            self._counts[table] = state["counts"][table]
        self._evaluated = Counter(state["evaluated"])
        self._snapshots = [SnapshotEntry(*entry) for entry in state["snapshots"]]
        self._find_seatable()
        # Older checkpoints have no win rates.
        self._win_rates = state.get("win_rates", {})
        for name, (generation, learning) in state["entrants"].items():
            self._live_members[name].generation = generation
            self.set_learning(name, learning)
        self._closing_played = state["closing_played"]

    def gone(self, plan: GamePlan) -> str:
        """Name of the plan's first live player that is no member any more, "" if there is none."""
        return next(
            (
                seat.player.name
                for seat in plan.seats
                if seat.player.kind == "member" and seat.player.name not in self._live_members
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


def merge_planners(states: Sequence[JsonState], counts: Sequence[int]) -> JsonState:
    """Merge the states of all planners of a run into one. counts: games so far, by table."""
    evaluated = sum((Counter[str](state["evaluated"]) for state in states), Counter[str]())
    played = sum(state["closing_played"] for state in states)
    return {
        **states[0],
        "counts": list(counts),
        "evaluated": dict(evaluated),
        "closing_played": played,
    }


def split_planner(state: JsonState, planners: int) -> list[JsonState]:
    """Split a state into one for each of several planners.

    All get the same members and snapshots; the first one gets the counts of games played so far.
    """
    return [state] + [{**state, "evaluated": {}, "closing_played": 0}] * (planners - 1)
