"""The next game of every table of a training run: who sits where, with which seed. A function of
(run seed, table, count) and stored state only.

Several planners may share a run: each plans for tables of its own and is told the same things.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.inference.frozen import FrozenPool, Seated
from pbt.matchmaking.past import PastRules, WinRates
from pbt.matchmaking.seats import (
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
    """A member as the planner knows it. policy: its index in the policy table."""

    entry: MemberEntry
    policy: int
    generation: int = 0


@dataclass(frozen=True)
class GameFacts:
    """What the planner must know of the game: the role name of every seat, whether evaluation
    games open at random, its scripted players.
    """

    seat_roles: tuple[str, ...]
    role_index: dict[str, int]
    random_openings: bool
    scripted: tuple[str, ...]


class TrainingPlanner:
    """Hands out training games around learning members and, for a share of all games, evaluation
    games between frozen snapshots.

    When nobody learns any more it hands out `closing_games` evaluation games, then nothing.
    """

    def __init__(
        self,
        config: RunConfig,
        facts: GameFacts,
        entrants: Sequence[MemberPolicy],
        frozen: FrozenPool,
        tables: Sequence[int],
        counts: NDArray[np.int64],
        closing_games: int,
    ) -> None:
        """tables: the numbers of those this planner plans for;  counts: [all tables] games so
        far, of which it writes its own tables' only.
        """
        self._config, self._facts, self._frozen = config, facts, frozen
        self._past = PastRules.from_config(config.matchmaking)
        self._win_rates: WinRates = {}
        self._evaluation_share = config.evaluation.share
        self._tables, self._counts = tuple(tables), counts
        self._entrants = {entrant.entry.name: entrant for entrant in entrants}
        self._snapshots: list[SnapshotEntry] = []
        # Those that a next game may seat: a handful, whatever the population's age.
        self._seatable: list[SnapshotEntry] = []
        self._evaluated: Counter[str] = Counter()
        self._closing_played = 0
        self._closing_total = closing_games

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
        self._entrants[member].generation = generation

    def set_learning(self, member: str, learning: bool) -> None:
        entrant = self._entrants[member]
        entrant.entry = MemberEntry(entrant.entry.name, entrant.entry.role, learning)
        if learning:
            self._closing_played = 0

    def close_with(self, games: int) -> None:
        """Once nobody learns, hand out so many more evaluation games."""
        self._closing_total = self._closing_played + games

    def needed(self) -> set[str]:
        """Snapshots that some next game may seat, or that sit now; removing any other changes no
        game.
        """
        return {entry.snapshot_id for entry in self._seatable} | self._frozen.seated()

    def _find_seatable(self) -> None:
        """Those that the past may send, and of each member the newest and the one before it
        (they meet in evaluation).
        """
        chosen: set[str] = set()
        for role in self._facts.role_index:
            chosen.update(past_candidates(self._snapshots, role, self._past))
        for member in self._entrants:
            chosen.update(
                entry.snapshot_id
                for entry in [entry for entry in self._snapshots if entry.member == member][-2:]
            )
        self._seatable = [entry for entry in self._snapshots if entry.snapshot_id in chosen]

    @property
    def learning(self) -> bool:
        """Somebody still learns."""
        return any(entrant.entry.learning for entrant in self._entrants.values())

    @property
    def closing_games(self) -> int:
        """Evaluation games still to be handed out once nobody learns."""
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
            # Neighbours of a block draw the same players, not the same opening.
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
        """The game was finished or voided: its frozen players need not stay resident."""
        self._frozen.release(self._frozen_seats([seat.player for seat in plan.seats]))

    def _training_players(self, rng: np.random.Generator, table: int) -> tuple[PlayerRef, ...]:
        members = [entrant.entry for entrant in self._entrants.values()]
        if len(self._facts.seat_roles) == 1:
            players = [entry.name for entry in members if entry.role == self._facts.seat_roles[0]]
            owner = owner_of_table(table, len(self._counts), players)
            if owner is not None and self._entrants[owner].entry.learning:
                return (PlayerRef("member", owner),)
        return seat_training_game(
            rng, self._facts.seat_roles, members, self._seatable, self._past, self._win_rates
        )

    def _evaluation_players(self, rng: np.random.Generator) -> tuple[PlayerRef, ...] | None:
        return seat_evaluation_game(
            rng, self._facts.seat_roles, self._seatable, self._facts.scripted, self._evaluated
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
        entrant = self._entrants[player.name]
        return SeatPlan(player, entrant.policy, entrant.generation, entrant.entry.learning)

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
                name: [entrant.generation, entrant.entry.learning]
                for name, entrant in self._entrants.items()
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
        # Older checkpoints know of none.
        self._win_rates = state.get("win_rates", {})
        for name, (generation, learning) in state["entrants"].items():
            self.set_generation(name, generation)
            self.set_learning(name, learning)
        self._closing_played = state["closing_played"]

    def gone(self, plan: GamePlan) -> str:
        """The first of its live players that is no member any more, empty where all are."""
        return next(
            (
                seat.player.name
                for seat in plan.seats
                if seat.player.kind == "member" and seat.player.name not in self._entrants
            ),
            "",
        )

    def reseat(self, plan: GamePlan) -> GamePlan:
        """A stored plan, its frozen players resident again (their slots may differ)."""
        players = tuple(seat.player for seat in plan.seats)
        acquired = self._frozen.acquire(self._frozen_seats(players))
        if acquired is None:
            found = (
                "the checkpoint's open games seat more frozen players than one worker "
                "has places for"
            )
            raise EngineError(
                f"{found}; resume with more workers, or a larger matchmaking.resident"
            )
        frozen = iter(acquired)
        seats = tuple(
            seat if seat.player.kind == "member" else seat._replace(policy=next(frozen))
            for seat in plan.seats
        )
        return plan._replace(seats=seats)


def merge_planners(states: Sequence[JsonState], counts: Sequence[int]) -> JsonState:
    """The states of all planners of a run as that of one. counts: games so far, of every table."""
    evaluated = sum((Counter[str](state["evaluated"]) for state in states), Counter[str]())
    played = sum(state["closing_played"] for state in states)
    return {
        **states[0],
        "counts": list(counts),
        "evaluated": dict(evaluated),
        "closing_played": played,
    }


def split_planner(state: JsonState, planners: int) -> list[JsonState]:
    """What each of several planners is to load: all know the same, the first one takes what was
    played so far.
    """
    return [state] + [{**state, "evaluated": {}, "closing_played": 0}] * (planners - 1)
