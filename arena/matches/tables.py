"""Games between frozen players, through the worker and the server that training uses: nothing
else steps a game.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from arena.guests.player import GuestPlayer
from arena.guests.tables import Guest, GuestTables, tables_for
from arena.players.policies import load_policy, memory_size
from arena.players.resolve import ResolvedPlayer
from pbt.envs.contract import EnvSpec, Game
from pbt.errors import EngineError
from pbt.inference.policy_server import PolicyServer
from pbt.sampling.rollout_worker import GamesFrom, RolloutWorker
from pbt.sampling.slots import Partition
from pbt.transport.messages import GameEnd, GamePlan, SeatPlan
from pbt.transport.slab import Slab, role_layout

DEFAULT_TABLES = 64
# A match counts the games that raised and ends by itself when they are too many
# (arena.matches.game_list).
MAX_EQUAL_ERRORS = 1_000
# A frozen seat only ever uses row 0 of its slot.
_ROWS = 1


class PlannedGame(NamedTuple):
    """sitting: index of the player in each seat;  plan: everything else, its `seats` still
    empty.
    """

    sitting: tuple[int, ...]
    plan: GamePlan


class FrozenTables:
    """Tables at which frozen players meet, in one process and one fixed order: equal plans give
    equal games.

    game       one table's game, to be read; it is closed with the others
    next_game  the next planned game, or None when all are handed out; may be set anew while no game
               is played
    person     asked for the moves of those players who are persons; they sit at one table
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
        person: Guest | None = None,
    ) -> None:
        torch.set_num_threads(1)
        tables = tables_for([player.program for player in players], tables)
        self._game, self._players, self.next_game = game, tuple(players), next_game
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
            for role, layout in enumerate(self._layouts):
                if player.program is not None:
                    guest = GuestPlayer(
                        player.program, player.env_name, options, layout, len(game.seat_names)
                    )
                    self._guests.attach(self._policy(index, role), guest)
                elif player.ref.kind == "guest" and person is not None:
                    self._guests.attach(self._policy(index, role), person)
                elif player.plays(layout.role.name):
                    self._server.attach(
                        self._policy(index, role), load_policy(player, layout, spec)
                    )
        share, games = (
            Partition.whole(tables, [slab.slots for slab in slabs]),
            GamesFrom(self._next_plan),
        )
        self._worker = RolloutWorker(
            lambda: spec.make(**options), share, slabs, games, seed, equal_errors=MAX_EQUAL_ERRORS
        )

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
        """One turn of the crank: the games that ended in it.

        Raises: EnvError when a game raises the same error twice; GuestError when a program does not
        start or keeps forfeiting.
        """
        for request in self._worker.requests():
            who = self._guests if self._guests.serves(request.policy) else self._server
            self._worker.receive(who.serve(request))
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
        """A game is being played somewhere."""
        return self._worker.busy

    def rearrange(self) -> None:
        """Hand out games to tables in the order of their numbers again, whatever was played
        before. Only while no game is played.
        """
        self._worker.idle.sort(key=lambda table: table.index)

    def close(self) -> None:
        """Release the games' engines and windows, and let the guests go."""
        self._guests.close()
        self._game.close()
        for table in self._worker.tables:
            table.game.close()
