"""A fixed list of games, played to its end: what raises is played again, Ctrl-C ends it early."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping

from arena.matches.tables import FrozenTables, PlannedGame
from pbt.errors import EngineError, EnvError
from pbt.records import is_voided
from pbt.transport.messages import GameEnd

MAX_TRIES = 3
MAX_ERROR_SHARE = 0.01

Progress = Callable[[int, int], None]
"""(games finished, games planned), after every turn in which one finished."""


class PlannedGames:
    """Hands out games of a plan. All of them are known before any is played; a voided one is handed
    out again.

    games    in the whole plan;  planned: index in the plan -> the game
    wanted   indices to be played, in this order; None: all;  tries: index -> how often it was
             spoiled before

    The game's count is set here, to index + games * (tries before), so that a repeated game keeps
    apart from the voided one.
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

    def next_game(self) -> PlannedGame | None:
        """None when all are handed out."""
        if not self._waiting:
            return None
        index = self._waiting.popleft()
        game = self._planned(index)
        game = game._replace(
            plan=game.plan._replace(game_count=index + self.games * self._tries[index])
        )
        self._tries[index] += 1
        return game

    def index(self, end: GameEnd) -> int:
        """Which game of the plan this was."""
        return end.plan.game_count % self.games

    def ended(self, end: GameEnd) -> None:
        """Count it as played, or, if it was voided, hand it out again. Raises: EnvError when it
        was voided at every try.
        """
        if not is_voided(end.reason):
            self.left -= 1
            return
        index = self.index(end)
        if self._tries[index] >= MAX_TRIES:
            raise EnvError(
                f"game {index} (seed {end.plan.seed}) was tried {MAX_TRIES} times: "
                f"{end.reason}; fix the game, `arena env check` helps"
            )
        self._waiting.appendleft(index)


def play_all(
    tables: FrozenTables,
    schedule: PlannedGames,
    take: Callable[[int, GameEnd], None],
    on_progress: Progress | None = None,
) -> bool:
    """Play the whole schedule. Returns True when it was played, False when Ctrl-C ended it.

    take  called with every game that ended and its index in the plan, voided tries included
    Raises: EnvError when a game keeps raising.
    """
    try:
        while schedule.left:
            ended = turn(tables)
            for end in ended:
                take(schedule.index(end), end)
                schedule.ended(end)
            if ended and on_progress is not None:
                on_progress(schedule.games - schedule.left, schedule.games)
    except KeyboardInterrupt:
        return False
    return True


def turn(tables: FrozenTables) -> list[GameEnd]:
    """One turn of the crank, while there is something to play."""
    ended = tables.turn()
    if not ended and not tables.busy:
        raise EngineError("games are left to play, and no table plays one")
    return ended


def is_spoiled(errors: int, games: int) -> bool:
    """So many games raised that the rest may be a biased choice. One, which may be the machine's
    doing, is not so many, however few the games.
    """
    return errors > max(1, MAX_ERROR_SHARE * games)
