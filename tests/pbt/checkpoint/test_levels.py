"""Curricula: a table of a training has a level, which goes on after a resume with other workers."""

from collections import defaultdict
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pbt.checkpoint.resharding import split_worker
from pbt.envs.contract import Curricular, SeatTurn
from pbt.errors import EnvError
from pbt.records import GameKind
from pbt.sampling.table import NO_PLAN, Table
from tests.pbt.checkpoint.test_resharding import resume, saved
from tests.pbt.sampling.made_up import GAMES_PER_TABLE, MadeUpGame
from tests.pbt.sampling.made_up_bench import Bench, shares_of

TABLES, ROLES, MOST = 5, (0, 1), 12.0
ANY: Any = SimpleNamespace()  # in place of the state of tables
Levels = dict[int, list[float]]


class Climbing(MadeUpGame):
    """A made-up game whose level rises by one with each game, until the highest.

    heard   by table, the levels that its games of a training were begun at
    """

    heard: Levels = defaultdict(list)
    follows_results = True

    def train_at(self, level: float) -> None:
        self._level = level

    def next_level(self) -> float:
        return min(self._level + 1.0, MOST)

    def reset(self, seed: int) -> list[SeatTurn]:
        self.heard[seed // GAMES_PER_TABLE].append(self._level)
        return super().reset(seed)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Levels:
    monkeypatch.setattr(Climbing, "heard", levels := defaultdict[int, list[float]](list))
    monkeypatch.setattr("tests.pbt.sampling.made_up_bench.MadeUpGame", Climbing)
    return levels


def climb(levels: list[float], first: float) -> None:
    """Each game was begun one level higher than the one before."""
    assert levels == [min(first + number, MOST) for number in range(len(levels))]


@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 2), (2, 1), (3, 2)])
def test_the_levels_of_tables_go_on_after_a_resume(before: int, after: int, heard: Levels) -> None:
    first = Bench(7, ROLES, TABLES, 4, 0.0, before)
    for _ in range(60):
        first.turn()
    first.rest()
    assert len(heard) == TABLES
    open_at = {}
    for number, levels in heard.items():
        climb(levels, 0.0)
        open_at[number] = levels[-1]
    assert max(map(len, heard.values())) > 2
    state, queues = saved(first)
    heard.clear()
    second = Bench(8, ROLES, TABLES, 4, 0.0, after)
    resume(first, split_worker(state, queues, shares_of(TABLES, ROLES, after)), state, second)
    playing = {table.index for worker in second.workers for table in worker.tables if table.playing}
    assert playing and {number for number, levels in heard.items() if levels} == playing
    for number in playing:
        assert heard[number] == [open_at[number]], "an open game is replayed at its own level"
    for _ in range(60):
        second.turn()
    for number, levels in heard.items():
        idle = number not in playing
        climb(levels, min(open_at[number] + 1.0, MOST) if idle else open_at[number])


def test_a_voided_game_leaves_its_table_at_its_level(heard: Levels) -> None:
    bench = Bench(7, ROLES, TABLES, 4, 0.05)
    for _ in range(60):
        bench.turn()
    seen = [after - before for own in heard.values() for before, after in pairwise(own)]
    assert {0.0, 1.0} <= set(seen) <= {0.0, 1.0}


@pytest.mark.parametrize(("kind", "told"), [("training", [3.0]), ("evaluation", [])])
def test_only_games_of_a_training_are_told_a_level(kind: GameKind, told: list[float]) -> None:
    class Game:
        levels: list[float] = []
        follows_results = True

        def train_at(self, level: float) -> None:
            self.levels.append(level)

        def next_level(self) -> float:
            return 4.0

        def reset(self, seed: int) -> list[SeatTurn]:
            return []

    game: Any = Game()
    game.levels = []
    assert isinstance(game, Curricular)
    table = Table(1, 0, game, ANY, NO_PLAN._replace(kind=kind), levels=np.array([0.0, 3.0]))
    table.begin()
    table.note_level()
    assert game.levels == told
    assert table.levels.tolist() == [0.0, 4.0 if told else 3.0]
    game.follows_results = False
    table.begin()
    assert game.levels == told


def test_a_level_that_is_no_number_is_refused() -> None:
    game: Any = SimpleNamespace(
        follows_results=True, train_at=lambda level: None, next_level=lambda: float("nan")
    )
    table = Table(0, 0, game, ANY, NO_PLAN._replace(kind="training"), levels=np.zeros(1))
    with pytest.raises(EnvError, match=r"next_level\(\) gave nan; expected a finite number"):
        table.note_level()
