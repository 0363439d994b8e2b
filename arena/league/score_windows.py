"""The windows of games that rounds are scored from, made again from the stored games.

A score counts the member's newest `pbt.score_games` training games of its present generation, up to
the last game before the round (`pbt.population.scores.ScoreWindow`). So the games of a score follow
from the rows alone, and no choice of games can pass for a window.

A person may edit what a window holds when a training is resumed. A training then goes on with the
games that its window had, so a window may begin there, or at that start. An edit of the objective
empties all windows, so no window holds games from before the newest such edit. Where a later start
went back to a checkpoint from before an edit, the edit is undone.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arena.league.database import League
from arena.league.populations import find_population, starts_of
from arena.league.stored_history import list_events
from pbt.config.resume import OBJECTIVE
from pbt.config.schema import RunConfig
from pbt.objective import ObjectiveKind
from pbt.population.scores import Counted, Detail, counted_games, score_points
from pbt.records import GameRecord, MemberScore

SIZE_KEY = "pbt.score_games"
WINDOW_KEYS = (SIZE_KEY, "pbt.opponents", "pbt.copy_significance")
"""Keys of the config whose edit changes which games a window holds."""


@dataclass(frozen=True, slots=True)
class WindowRule:
    """What a population's windows may hold.

    sizes     the values of `pbt.score_games` that were ever in force
    restarts  numbers of the first games of starts at which a person edited what a window holds
    emptied   number of a start -> number of the first game that windows may hold at its rounds,
              where an edit of the objective emptied them
    """

    sizes: tuple[int, ...]
    restarts: tuple[int, ...] = ()
    emptied: Mapping[int, int] = field(default_factory=dict)


def window_rule(league: League, population: str, config: RunConfig) -> WindowRule:
    """The rule of a population. config: that it was made with. Raises: PlayerError."""
    sizes, edited, anew = {config.pbt.score_games}, set(), set()
    for stored in list_events(league, population):
        if stored.event.kind != "edit":
            continue
        key, _, values = stored.event.text.removeprefix("edited ").partition(":")
        if key in WINDOW_KEYS:
            edited.add(stored.incarnation)
        elif key == OBJECTIVE:
            anew.add(stored.incarnation)
        if key == SIZE_KEY and (new := values.rpartition(" -> ")[2]).isdigit():
            sizes.add(int(new))
    with league.read() as connection:
        starts = starts_of(connection, find_population(connection, population).id)
    first_games = (int(start.first_game) for start in starts if start.number in edited)
    return WindowRule(tuple(sorted(sizes)), tuple(sorted(first_games)), _emptied(starts, anew))


def _emptied(starts: Sequence[Any], edited: Collection[int]) -> dict[int, int]:
    """Number of a start -> first game of the newest start up to it that emptied the windows.

    A checkpoint is written with the edit in force, so a later start has it if its own checkpoint
    is a later one than the edit began with.

    starts  rows of the starts, in order
    edited  numbers of those at which the objective was edited
    """
    emptied: dict[int, int] = {}
    in_force: list[tuple[int, int]] = []  # (checkpoint that an edit began with, its first game)
    for start in starts:
        checkpoint = int(start.from_checkpoint or 0)
        in_force = [edit for edit in in_force if edit[0] < checkpoint]
        if start.number in edited:
            in_force.append((checkpoint, int(start.first_game)))
        if in_force:
            emptied[int(start.number)] = in_force[-1][1]
    return emptied


class GameWindows:
    """The newest counted games of every member and generation, as games are added in order.

    added  number of games added so far
    """

    def __init__(self, rule: WindowRule, objectives: Collection[ObjectiveKind]) -> None:
        """objectives: those by which games are counted."""
        self._rule, self._objectives = rule, tuple(objectives)
        self._restarts = list(rule.restarts)
        self._games: dict[tuple[str, int, ObjectiveKind], deque[Counted]] = defaultdict(
            lambda: deque(maxlen=max(rule.sizes))
        )
        # Where a window may begin besides its size, since an edit made it begin there.
        self._beginnings: dict[tuple[str, int, ObjectiveKind], set[int]] = defaultdict(set)
        self.added = 0

    def add(self, record: GameRecord) -> None:
        """Adds the next training game. Raises: EnvError as `counted_games`."""
        while self._restarts and record.number >= self._restarts[0]:
            self._restart(self._restarts.pop(0))
        self.added += 1
        for objective in self._objectives:
            for member, generation, game in counted_games(record, objective):
                self._games[member, generation, objective].append(game)

    def _restart(self, number: int) -> None:
        """Notes where the windows begin at an edit before game `number`."""
        for key, games in self._games.items():
            for size in self._rule.sizes:
                self._beginnings[key].add(games[max(0, len(games) - size)].number)
        for key in self._games:
            self._beginnings[key].add(number)

    def score(
        self,
        stored: MemberScore,
        generation: int,
        objective: ObjectiveKind,
        detail: Detail,
        start: int = 0,
    ) -> MemberScore:
        """What a stored score should be; where several windows are right, the most alike one.

        generation  copies of the member that were decided before the round. The newest one may not
                    have been in force yet if no game of its weights had ended
        start       number of the start that decided the round
        """
        first = self._rule.emptied.get(start, 0)
        windows = list(self._windows(stored.member, generation, objective, first))
        ends = (stored.games, stored.first_game, stored.last_game)
        alike = [games for games in windows if _ends(games) == ends]
        return score_points(stored.member, (alike or windows)[0], detail)

    def _windows(
        self, member: str, generation: int, objective: ObjectiveKind, first: int
    ) -> Iterator[Sequence[Counted]]:
        """The windows that a score may be over, the most likely one first.

        first: number of the first game that they may hold
        """
        key = (member, generation, objective)
        games = [game for game in self._games.get(key, ()) if game.number >= first]
        for size in reversed(self._rule.sizes):
            yield games[-size:]
            for beginning in sorted(self._beginnings.get(key, ())):
                yield [game for game in games[-size:] if game.number >= beginning]
        if not games and generation > 0:
            yield from self._windows(member, generation - 1, objective, first)


def _ends(games: Sequence[Counted]) -> tuple[int, int, int]:
    return (len(games), games[0].number, games[-1].number) if games else (0, -1, -1)
