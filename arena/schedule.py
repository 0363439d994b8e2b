"""A fixed list of games, played to its end: what raises is played again, Ctrl-C ends it early."""

from collections import Counter, deque
from collections.abc import Callable

from arena.playing import FrozenTables, PlannedGame
from pbt.errors import EngineError, EnvError
from pbt.population.scores import VOIDED_PREFIX
from pbt.transport.messages import GameEnd

MAX_TRIES = 3
MAX_ERROR_SHARE = 0.01

Progress = Callable[[int, int], None]
"""(games finished, games planned), after every turn in which one finished."""


class Schedule:
    """Hands out the games of a plan. All of them are known before any is played; a voided one is handed out again.

    planned  index in the plan -> the game. Its count is set here: running number of the try, so a repeated game keeps apart from the voided one
    """

    def __init__(self, games: int, planned: Callable[[int], PlannedGame]) -> None:
        self.games = games
        self._planned = planned
        self._waiting = deque(range(games))
        self._index_of_try: list[int] = []
        self._tries: Counter[int] = Counter()

    def next_game(self) -> PlannedGame | None:
        """None when all are handed out."""
        if not self._waiting:
            return None
        index = self._waiting.popleft()
        game = self._planned(index)
        game = game._replace(plan=game.plan._replace(game_count=len(self._index_of_try)))
        self._index_of_try.append(index)
        self._tries[index] += 1
        return game

    def index(self, end: GameEnd) -> int:
        """Which game of the plan this was."""
        return self._index_of_try[end.plan.game_count]

    def again(self, end: GameEnd) -> None:
        """A game was voided. Raises: EnvError when it was so at every try."""
        index = self.index(end)
        if self._tries[index] >= MAX_TRIES:
            raise EnvError(f"game {index} (seed {end.plan.seed}) was tried {MAX_TRIES} times: {end.reason}; fix the game, `arena env check` helps")
        self._waiting.appendleft(index)


def play_all(tables: FrozenTables, schedule: Schedule, take: Callable[[int, GameEnd], None], on_progress: Progress | None = None) -> bool:
    """Play the whole schedule. Returns True when it was played, False when Ctrl-C ended it.

    take  called with every game that ended and its index in the plan, voided tries included
    Raises: EnvError when a game keeps raising.
    """
    done = 0
    try:
        while done < schedule.games:
            ended = tables.turn()
            for end in ended:
                take(schedule.index(end), end)
                if is_voided(end):
                    schedule.again(end)
                else:
                    done += 1
            if ended and on_progress is not None:
                on_progress(done, schedule.games)
            if not ended and not tables.busy:
                raise EngineError(f"{done} of {schedule.games} games are played, and no table plays one")
    except KeyboardInterrupt:
        return False
    return True


def is_voided(end: GameEnd) -> bool:
    return end.reason.startswith(VOIDED_PREFIX)


def is_spoiled(errors: int, games: int) -> bool:
    """So many games raised that the rest may be a biased choice."""
    return errors > MAX_ERROR_SHARE * games
