"""Tables for games between frozen players.

They are stepped by the same rollout worker and policy server as in training: no other code steps a
game.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from arena.guests.player import GuestPlayer
from arena.guests.tables import Guest, GuestTables, tables_for
from arena.matches.game_faults import MAX_DECISIONS, GameFaults
from arena.players.policies import load_policy, memory_size
from arena.players.resolve import ResolvedPlayer
from pbt.envs.contract import EnvSpec, Game
from pbt.errors import EngineError
from pbt.inference.policy_server import PolicyServer
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import GameEnd, GamePlan, SeatPlan
from pbt.transport.slab import Slab, role_layout

DEFAULT_TABLES = 64
# High, because a match itself counts the games that raised and ends when there are too many
# (arena.matches.game_list).
MAX_EQUAL_ERRORS = 1_000
# A frozen seat only ever uses row 0 of its slot.
_ROWS = 1


class PlannedGame(NamedTuple):
    """A game that is to be played.

    sitting  index of the player in each seat
    plan     everything else; its `seats` are still empty
    """

    sitting: tuple[int, ...]
    plan: GamePlan


def planned_game(
    sitting: tuple[int, ...],
    index: int,
    seed: int,
    noise: tuple[int | str, ...],
    *,
    opening: tuple[int, int] = (0, 0),
    record_actions: bool = False,
    greedy: bool = False,
    pair: int | None = None,
) -> PlannedGame:
    """A game between frozen players. opening: its number of plies, and their seed."""
    plan = GamePlan(index, "evaluation", seed, (), noise, *opening, record_actions, greedy, pair)
    return PlannedGame(sitting, plan)


class FrozenTables:
    """Tables at which frozen players meet, stepped in one process and one fixed order.

    Equal plans give equal games.

    spec       the environment
    game       a game of `spec`, whose description is read; it is closed with the others
    players    the players, by index
    tables     number of games that are played at the same time
    seed       of the worker's and the guests' random choices
    next_game  gives the next planned game, or None when all are handed out; may be set anew while
               no game is being played
    faults     keeps the games that went wrong
    person     chooses the moves of players who are people; they sit at one table
    Raises: SnapshotError when a player's weights cannot be used.
    """

    def __init__(
        self,
        spec: EnvSpec,
        game: Game,
        players: Sequence[ResolvedPlayer],
        tables: int,
        seed: int,
        next_game: Callable[[], PlannedGame | None],
        faults: GameFaults,
        person: Guest | None = None,
    ) -> None:
        torch.set_num_threads(1)
        tables = tables_for([player.program for player in players], tables)
        self._game, self._players, self.next_game = game, tuple(players), next_game
        self.faults = faults
        options = dict(players[0].env_options)
        width = max(memory_size(player) for player in players)
        self._layouts = tuple(
            role_layout(role, game.reward_terms, _ROWS, width) for role in game.roles
        )
        slabs = tuple(
            Slab(layout, tables * game.seat_roles.count(role))
            for role, layout in enumerate(self._layouts)
        )
        self._server = PolicyServer(slabs, len(self._players) * len(slabs))
        self._guests = GuestTables(game, slabs, seed)
        for index, player in enumerate(players):
            self._attach(index, player, spec, person)
        partition = Partition.whole(tables, [slab.slots for slab in slabs])
        games = GamesFrom(self._next_plan)
        self._worker = RolloutWorker(
            lambda: spec.make(**options),
            partition,
            slabs,
            games,
            seed,
            equal_errors=MAX_EQUAL_ERRORS,
            max_decisions=MAX_DECISIONS,
            reproductions=faults,
        )

    def _attach(
        self, index: int, player: ResolvedPlayer, spec: EnvSpec, person: Guest | None
    ) -> None:
        """Host a player's policy for every role that it can play."""
        options, seats = dict(self._players[0].env_options), len(self._game.seat_names)
        for role, layout in enumerate(self._layouts):
            policy = self._policy(index, role)
            if player.program is not None:
                guest = GuestPlayer(player.program, player.env_name, options, layout, seats)
                self._guests.attach(policy, guest)
            elif player.ref.kind == "guest" and person is not None:
                self._guests.attach(policy, person)
            elif player.plays(layout.role.name):
                self._server.attach(policy, load_policy(player, layout, spec))

    def _next_plan(self, table: int) -> GamePlan | None:
        planned = self.next_game()
        if planned is None:
            return None
        seats = zip(planned.sitting, self._game.seat_roles, strict=True)
        plan = planned.plan._replace(
            seats=tuple(
                SeatPlan(self._players[player].ref, self._policy(player, role), 0, False)
                for player, role in seats
            )
        )
        self._guests.game_begins(plan)
        return plan

    def _policy(self, player: int, role: int) -> int:
        return player * len(self._layouts) + role

    def turn(self) -> list[GameEnd]:
        """Act and step once at every table that is due. Returns the games that ended.

        Raises: EnvError when a game raises the same error twice, GuestError when a program does not
        start or keeps forfeiting.
        """
        requests = [(one, self._guests.serves(one.policy)) for one in self._worker.requests()]
        answers = iter(self._server.serve_all([one for one, guest in requests if not guest]))
        for one, guest in requests:
            self._worker.receive(self._guests.serve(one) if guest else next(answers))
        self._guests.forfeit(self._worker)
        ended = []
        for message in self._worker.advance():
            if not isinstance(message, GameEnd):
                raise EngineError(
                    f"a frozen seat sent {type(message).__name__}; expected game ends only"
                )
            self._guests.game_over(message)
            ended.append(message)
        return ended

    @property
    def busy(self) -> bool:
        """Whether any table plays a game."""
        return self._worker.busy

    def rearrange(self) -> None:
        """Give the next games to the tables in the order of the tables' numbers.

        Call it only while no game is being played.
        """
        self._worker.idle.sort()

    def close(self) -> None:
        """Close the games with their engines and windows, and end the guests."""
        self._guests.close()
        self._game.close()
        for table in self._worker.tables:
            table.game.close()
