"""The planner chooses the next game of every table of a training run: its players and its seeds.

A plan depends on (run seed, table, count), the roster and stored counts only. Several planners may
share a run. Each plans for its own tables, and all follow the same roster.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.inference.frozen import FrozenPool, Seated
from pbt.matchmaking.next_games import GameFacts, Lineup, NextGame, NextGames
from pbt.matchmaking.roster import EvaluationCounts, Roster
from pbt.matchmaking.seats import seat_evaluation_game
from pbt.records import PlayerRef
from pbt.saved import SavedPlanner
from pbt.seeding import uniform
from pbt.transport.messages import DECORRELATION, GamePlan, SeatPlan

# Games of a table that are planned at once, where the roster stays; half as many more may wait.
# With many tables fewer are, since a call is worth its while from about so many games on.
MOST_AHEAD, ENOUGH = 16, 4096


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
        *,
        in_rounds: bool = False,
    ) -> None:
        """Plan for some of the tables.

        frozen         the policy slots for frozen players
        tables         numbers of the tables that this planner plans for
        counts         [all tables] games so far; the planner writes those of its own tables only
        closing_games  evaluation games to hand out after the last member has stopped learning
        in_rounds      no plan depends on which tables this planner plans for
        """
        self._in_rounds = in_rounds
        self._config, self._facts, self._frozen = config, facts, frozen
        self._tables, self._counts = tuple(tables), counts
        self._most_ahead = max(1, min(MOST_AHEAD, ENOUGH // max(1, len(tables))))
        self._evaluated = EvaluationCounts()
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
        self._evaluated.follow(self._roster, roster, self._counts)
        self._follow(roster)
        for name, member in self._members.items():
            if name in before and member.generation != before[name].generation:
                self.on_generation(member.policy, member.generation)

    def _follow(self, roster: Roster) -> None:
        self._roster = roster
        self._members = {member.name: member for member in roster.members}
        # The seats of players that are all members of this roster, by the number of their lineup.
        self._live_seats: dict[int, tuple[SeatPlan, ...]] = {}
        # Made for the first games of this roster.
        self._next: NextGames | None = None
        self._ahead: dict[int, deque[NextGame]] = {}
        self._games_ahead = 1

    def close_with(self, games: int) -> None:
        """Hand out `games` more evaluation games once no member learns.

        In rounds they are all games of the final evaluation, of which each table has its part.
        """
        self._closing_total = games if self._in_rounds else self._evaluated.closing + games

    def needed(self) -> set[str]:
        """Ids of the snapshots that a next game may seat, or that are seated now.

        Removing any other snapshot changes no game.
        """
        return self._roster.snapshot_ids() | self._frozen.seated()

    @property
    def closing_games(self) -> int:
        """Evaluation games that are still to be handed out once no member learns."""
        if self._in_rounds:
            return sum(map(self._closing_at, self._tables))
        return max(0, self._closing_total - self._evaluated.closing)

    def _closing_at(self, table: int) -> int:
        """The same of one table, in rounds."""
        total, tables, began = self._closing_total, len(self._counts), self._evaluated.closing_from
        part = total * (table + 1) // tables - total * table // tables
        played = int(self._counts[table]) - began[table] if began else 0
        return max(0, part - played)

    # --- what the worker asks ---------------------------------------------------------------------

    def next_games(self, tables: Sequence[int]) -> list[GamePlan | None]:
        """The next game of each table; None when there is nothing (yet) to play."""
        if not all(self._ahead.get(table) for table in tables):
            self._plan_ahead()
        return [self._begin(table, self._ahead[table]) for table in tables]

    def _plan_ahead(self) -> None:
        """Plan several games of every table that has few, more each time while the roster stays.

        Few calls that plan many games cost a fraction of many calls.
        """
        if self._next is None:
            self._next = NextGames(self._config, self._facts, self._roster, len(self._counts))
        games, self._games_ahead = self._games_ahead, min(self._most_ahead, 2 * self._games_ahead)
        held = np.array([len(self._ahead.get(table, ())) for table in self._tables], np.int64)
        few = held < games / 2
        short = np.array(self._tables, np.int64)[few]
        numbers = np.repeat(short, games)
        counts = np.repeat(self._counts[short] + held[few], games)
        counts += np.tile(np.arange(games), len(short))
        planned = iter(self._next.plan(numbers, counts))
        for table in short.tolist():
            self._ahead.setdefault(table, deque()).extend(islice(planned, games))

    def _begin(self, table: int, ahead: deque[NextGame]) -> GamePlan | None:
        """Find places for the frozen players of a table's next game, and count it as begun."""
        game = ahead[0]
        if game.lineup is None:
            seats = self._evaluation(table, game)
        else:
            seats = self._training(game.lineup)
        if seats is None:
            return None
        ahead.popleft()
        self._counts[table] += 1
        number, seed, opening, *_ = game
        noise = ("action", table, number)
        if game.lineup is not None:
            plan = GamePlan(number, "training", seed, seats, noise, opening, seed)
            return plan if number else self._first(plan, table)
        self._evaluated.add((seat.player for seat in seats), self._roster)
        return GamePlan(
            number, "evaluation", seed, seats, noise, opening, seed, record_actions=True
        )

    def _first(self, plan: GamePlan, table: int) -> GamePlan:
        """The plan of a table's first training game, with an opening that sets the table apart.

        `pbt.sampling.decorrelation` says what becomes of it.
        """
        most = self._config.sampling.decorrelation_steps
        moves = int(uniform(self._config.seed, "decorrelate", table) * (most + 1))
        noise = (DECORRELATION, table, plan.game_count)
        return plan._replace(noise=noise, opening_plies=moves) if moves else plan

    def _training(self, lineup: Lineup) -> tuple[SeatPlan, ...] | None:
        """The seats of a training game; None while there is no place for a frozen player."""
        seats = self._live_seats.get(lineup.number)
        if seats is not None:
            return seats
        seats = self._seat(lineup.players)
        if seats is not None and all(player.kind == "member" for player in lineup.players):
            self._live_seats[lineup.number] = seats
        return seats

    def _evaluation(self, table: int, game: NextGame) -> tuple[SeatPlan, ...] | None:
        """The seats of an evaluation game; None where none can be played now."""
        if not self._roster.learning:
            left = self._closing_at(table) if self._in_rounds else self.closing_games
            if not left:
                return None
        facts, roster = self._facts, self._roster
        players = seat_evaluation_game(
            iter(game.draws),
            facts.seat_roles,
            roster.snapshots,
            facts.scripted,
            self._games_played(),
            self_play=facts.self_play,
        )
        return None if players is None else self._seat(players)

    def _games_played(self) -> Mapping[str, int]:
        """Evaluation games by snapshot, by which those with few of them are preferred.

        In rounds there is no preference: it would depend on which tables this planner has.
        """
        return {} if self._in_rounds else self._evaluated.by_snapshot

    def game_over(self, plan: GamePlan) -> None:
        """The game was finished or voided; its frozen players may be evicted."""
        if any(seat.player.kind != "member" for seat in plan.seats):
            self._frozen.release(self._frozen_seats([seat.player for seat in plan.seats]))

    def _seat(self, players: Sequence[PlayerRef]) -> tuple[SeatPlan, ...] | None:
        """The seats of these players; None while there is no place for a frozen one."""
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

    def state(self) -> SavedPlanner:
        return self._evaluated.saved(self._counts, self._roster)

    def load(self, state: SavedPlanner) -> None:
        if len(state.counts) != len(self._counts):
            raise EngineError(
                f"the checkpoint counts the games of {len(state.counts)} tables; there "
                f"are {len(self._counts)}"
            )
        for table in self._tables:
            self._counts[table] = state.counts[table]
        self._evaluated = EvaluationCounts.load(state)
        self._follow(self._roster.resumed(state.roster))

    def gone(self, plan: GamePlan) -> str:
        """Name of the plan's first live player that is no member any more, "" if there is none."""
        live = (seat.player.name for seat in plan.seats if seat.player.kind == "member")
        return next((name for name in live if name not in self._members), "")

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
