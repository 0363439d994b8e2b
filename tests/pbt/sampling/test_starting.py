"""Games that take long to start are started for several tables at a time.

A game that hangs is named, and one that cannot be played ends the start.
"""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from pbt.errors import EnvError
from pbt.sampling.starting import start_games
from pbt.sampling.table import Table
from tests.pbt.sampling.test_spoiled_games import Faulty

WAIT_S = 20.0


class Starting(Faulty):
    def __init__(self, start: Callable[[], object]) -> None:
        super().__init__(lambda game: None)
        self._start, self.prepared = start, 0

    def prepare(self) -> None:
        self._start()
        self.prepared += 1


def tables(*games: Faulty) -> list[Table]:
    state: Any = None
    return [Table(10 + number, number, game, state) for number, game in enumerate(games)]


def unwatched(ask: Callable[[], None], number: int) -> None:
    ask()


def test_games_start_beside_each_other() -> None:
    together = threading.Barrier(2)
    games = [Starting(lambda: together.wait(WAIT_S)) for _ in range(6)]
    start_games(tables(*games, Faulty(lambda game: None)), unwatched)
    assert [game.prepared for game in games] == [1] * 6


def test_the_one_that_hangs_is_named() -> None:
    free, named = threading.Event(), list[int]()
    games = [Starting(lambda: None), Starting(lambda: free.wait(WAIT_S)), Starting(lambda: None)]

    def watched(ask: Callable[[], None], number: int) -> None:
        named.append(number)
        if number == 11:
            # The watching process sees this number while the game hangs.
            threading.Timer(0.1, free.set).start()
            assert not free.is_set()
        ask()
        assert number != 11 or free.is_set()

    start_games(tables(*games), watched)
    assert named == [10, 11, 12]


def test_the_first_that_cannot_be_played_ends_it() -> None:
    def refuse() -> None:
        raise EnvError("no engine here")

    many = [Starting(lambda: None) for _ in range(200)]
    with pytest.raises(EnvError, match="no engine here"):
        start_games(tables(Starting(refuse), *many), unwatched)
