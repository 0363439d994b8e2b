"""A fixed list of games, played to its end, as a whole or a batch at a time.

A game that raises is played again, up to MAX_TRIES times, unless it would raise every time. Ctrl-C
ends the list early.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from arena.matches.game_faults import GameFault, GameFaults
from arena.matches.plan import MatchPlan
from arena.matches.tables import FrozenTables, PlannedGame
from pbt.envs.contract import EnvSpec
from pbt.errors import BrokenGameError, EngineError
from pbt.records import is_voided
from pbt.transport.messages import GameEnd

MAX_TRIES = 3
MAX_ERROR_SHARE = 0.01

Progress = Callable[[int, int], None]
"""(games finished, games planned), after every turn in which one finished."""


class PlannedGames:
    """Hands out the games of a plan. A voided game is handed out again.

    games    number of games in the whole plan
    planned  index in the plan -> the game
    wanted   indices of the games to play, in this order; None for all
    tries    index -> how often the game was spoiled before

    When a game cannot be played, those at the tables are played to their end, and no other begins.
    A game's count is index + games * (tries before), so that a repeated game never has the number
    of the voided one.
    """

    def __init__(
        self,
        games: int,
        planned: Callable[[int], PlannedGame],
        wanted: Iterable[int] | None = None,
        tries: Mapping[int, int] | None = None,
    ) -> None:
        self.games = games
        self._planned = planned
        self._waiting = deque(range(games) if wanted is None else wanted)
        self.left = len(self._waiting)
        self._tries = Counter(tries or {})
        self._playing = 0
        self._failure: str | None = None

    def next_game(self) -> PlannedGame | None:
        """The next game to play; None when all are handed out, and after a failure."""
        if not self._waiting or self._failure is not None:
            return None
        self._playing += 1
        index = self._waiting.popleft()
        game = self._planned(index)
        game = game._replace(
            plan=game.plan._replace(game_count=index + self.games * self._tries[index])
        )
        self._tries[index] += 1
        return game

    def index(self, end: GameEnd) -> int:
        """Index in the plan of a game that ended."""
        return end.plan.game_count % self.games

    def ended(self, end: GameEnd, fault: GameFault | None) -> None:
        """Count a game as played; if it was voided, plan it anew.

        fault  what went wrong in it, where that is known
        Raises: BrokenGameError at the end of the last running game, once one was voided at every
        try, or would be.
        """
        self._playing -= 1
        index = self.index(end)
        if not is_voided(end.reason):
            self.left -= 1
        elif (fault is None or not fault.repeats) and self._tries[index] < MAX_TRIES:
            self._waiting.appendleft(index)
        elif self._failure is None:
            self._failure = self._told(index, end, fault)
        if self._failure is not None:
            self.left = self._playing
            if not self._playing:
                raise BrokenGameError(self._failure)

    def _told(self, index: int, end: GameEnd, fault: GameFault | None) -> str:
        """The error of a game that cannot be played."""
        pair = "" if end.plan.pair is None else f"pair {end.plan.pair}, "
        if fault is not None and fault.repeats:
            how = "goes wrong whenever its actions are played"
        else:
            how = f"was tried {MAX_TRIES} times"
        where = "" if fault is None else f"; {fault.words}"
        return (
            f"game {index} ({pair}seed {end.plan.seed}) {how}: {end.reason}{where}; fix the game, "
            "`arena env check` helps"
        )


def play_all(
    tables: FrozenTables,
    game_list: PlannedGames,
    take: Callable[[int, GameEnd], None],
    on_progress: Progress | None = None,
) -> bool:
    """Play the whole list. Returns True when it was played, False when Ctrl-C ended it.

    take  called with the index in the plan and the end of every game, voided tries included
    Raises: BrokenGameError when a game keeps raising.
    """
    try:
        while game_list.left:
            ended = turn(tables)
            for end in ended:
                take(game_list.index(end), end)
                game_list.ended(end, tables.faults.take(end.plan.game_count))
            if ended and on_progress is not None:
                on_progress(game_list.games - game_list.left, game_list.games)
    except KeyboardInterrupt:
        return False
    return True


def turn(tables: FrozenTables) -> list[GameEnd]:
    """Games that ended in one turn of the tables. Call it only while games are left to play."""
    ended = tables.turn()
    if not ended and not tables.busy:
        raise EngineError("games are left to play, and no table plays one")
    return ended


def is_spoiled(errors: int, games: int) -> bool:
    """True when too many games raised, so that the others may be a biased choice.

    A single one is never too many, however few the games: the machine may have caused it.
    """
    return errors > max(1, MAX_ERROR_SHARE * games)


class BatchTables:
    """The tables of a match, which play one batch after the other.

    Equal batches come to equal games, in any process and after any other batches.

    Raises: SnapshotError when a player's weights cannot be used.
    """

    def __init__(self, env: EnvSpec, plan: MatchPlan, logs: Path | None) -> None:
        """logs: where games that go wrong are kept; None: nowhere."""
        self._plan = plan
        first, tables = plan.players[0], min(plan.batch, plan.games)
        game, self._faults = env.make(**first.env_options), GameFaults(logs, env, first)
        self._tables = FrozenTables(
            env, game, plan.players, tables, plan.seed, lambda: None, self._faults
        )
        self._game_list: PlannedGames | None = None
        self._ended: list[tuple[GameEnd, GameFault | None]] = []

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
        """Games that ended, voided ones included. Call `settle` once they are stored.

        A game that goes wrong at every try is left out: it is no game until it is mended.
        """
        ends = turn(self._tables)
        self._ended = [(end, self._faults.take(end.plan.game_count)) for end in ends]
        return [end for end, fault in self._ended if fault is None or not fault.repeats]

    def settle(self) -> None:
        """Plan voided games anew.

        Raises: BrokenGameError for a game that was voided at every try.
        """
        assert self._game_list is not None
        ended, self._ended = self._ended, []
        for end, fault in ended:
            self._game_list.ended(end, fault)

    def close(self) -> None:
        self._tables.close()
