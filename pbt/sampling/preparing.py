"""What takes long before the first game, for several tables at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from pbt.envs.contract import Preparing
from pbt.sampling.table import Table

# Half of an engine's start is waiting: two cores are kept busy by four, and more gain nothing.
_AT_A_TIME = 4


def prepare(tables: Sequence[Table], watched: Callable[[Callable[[], None], int], None]) -> None:
    """Let games that have something to start do so. watched: calls a function as code of the table of a number, so that one that hangs is named."""
    waiting = [(table.index, table.game.prepare) for table in tables if isinstance(table.game, Preparing)]
    if not waiting:
        return
    with ThreadPoolExecutor(_AT_A_TIME, "prepare") as pool:
        for number, started in [(number, pool.submit(start)) for number, start in waiting]:
            watched(started.result, number)
