"""What takes long before the first game is done for several tables at a time, and one that hangs can be named."""

import threading
from collections.abc import Callable

from pbt.sampling.preparing import prepare
from pbt.sampling.table import Table
from tests.pbt.sampling.test_spoiled_games import Faulty

WAIT_S = 20.0


class Slow(Faulty):
    """Is prepared when as many are at it as must be."""

    def __init__(self, together: threading.Barrier) -> None:
        super().__init__(lambda game: None)
        self._together, self.prepared = together, 0

    def prepare(self) -> None:
        self._together.wait(WAIT_S)
        self.prepared += 1


def test_games_prepare_beside_each_other_and_each_has_its_name() -> None:
    together = threading.Barrier(2)
    games = [Slow(together) for _ in range(6)]
    named: list[int] = []

    def watched(ask: Callable[[], None], number: int) -> None:
        named.append(number)
        ask()

    tables = [Table(10 + number, game) for number, game in enumerate(games)]
    prepare([*tables, Table(99, Faulty(lambda game: None))], watched)
    assert [game.prepared for game in games] == [1] * 6
    assert named == [table.index for table in tables]
