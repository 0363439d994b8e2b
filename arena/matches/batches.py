"""The games of a match a batch at a time: equal batches come to equal games, in whatever process
and after whatever others.
"""

from collections.abc import Sequence

from arena.matches.game_list import PlannedGames, turn
from arena.matches.plan import MatchPlan
from arena.matches.tables import FrozenTables
from pbt.envs.contract import EnvSpec
from pbt.transport.messages import GameEnd


class BatchTables:
    """Tables for one batch after the other. Raises: SnapshotError when a player's weights cannot
    be used.
    """

    def __init__(self, env: EnvSpec, plan: MatchPlan) -> None:
        self._plan = plan
        game = env.make(**plan.players[0].env_options)
        self._tables = FrozenTables(
            env, game, plan.players, min(plan.batch, plan.games), plan.seed, lambda: None
        )
        self._schedule: PlannedGames | None = None
        self._ended: list[GameEnd] = []

    def begin(self, wanted: Sequence[int], tries: Sequence[int]) -> None:
        """Games of one batch. Only when nothing is left of the one before."""
        self._schedule = PlannedGames(
            self._plan.games, self._plan.game, wanted, dict(zip(wanted, tries, strict=True))
        )
        self._tables.next_game = self._schedule.next_game
        self._tables.rearrange()

    @property
    def left(self) -> int:
        """Games to be finished."""
        return self._schedule.left if self._schedule else 0

    def turn(self) -> list[GameEnd]:
        """Games that ended, voided ones included; `settle` when they are taken."""
        self._ended = turn(self._tables)
        return self._ended

    def settle(self) -> None:
        """Hand out again what was voided. Raises: EnvError when a game was voided at every try."""
        assert self._schedule is not None
        ended, self._ended = self._ended, []
        for end in ended:
            self._schedule.ended(end)

    def close(self) -> None:
        self._tables.close()
