"""The games of a match, played a batch at a time.

Equal batches come to equal games, in any process and after any other batches.
"""

from collections.abc import Sequence

from arena.matches.game_list import PlannedGames, turn
from arena.matches.plan import MatchPlan
from arena.matches.tables import FrozenTables
from pbt.envs.contract import EnvSpec
from pbt.transport.messages import GameEnd


class BatchTables:
    """The tables of a match, which play one batch after the other.

    Raises: SnapshotError when a player's weights cannot be used.
    """

    def __init__(self, env: EnvSpec, plan: MatchPlan) -> None:
        self._plan = plan
        game = env.make(**plan.players[0].env_options)
        self._tables = FrozenTables(
            env, game, plan.players, min(plan.batch, plan.games), plan.seed, lambda: None
        )
        self._game_list: PlannedGames | None = None
        self._ended: list[GameEnd] = []

    def begin(self, wanted: Sequence[int], tries: Sequence[int]) -> None:
        """Start on a batch. The batch before must be finished.

        wanted  indices of the games to play
        tries   of each of them, how often it was spoiled before
        """
        self._game_list = PlannedGames(
            self._plan.games, self._plan.game, wanted, dict(zip(wanted, tries, strict=True))
        )
        self._tables.next_game = self._game_list.next_game
        self._tables.rearrange()

    @property
    def left(self) -> int:
        """Games of the batch that are not finished."""
        return self._game_list.left if self._game_list else 0

    def turn(self) -> list[GameEnd]:
        """Games that ended, voided ones included. Call `settle` once they are stored."""
        self._ended = turn(self._tables)
        return self._ended

    def settle(self) -> None:
        """Plan voided games anew. Raises: EnvError for a game that was voided at every try."""
        assert self._game_list is not None
        ended, self._ended = self._ended, []
        for end in ended:
            self._game_list.ended(end)

    def close(self) -> None:
        self._tables.close()
