"""What takes long before the first game, for several tables at a time."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from pbt.envs.contract import Preparing
from pbt.sampling.table import Table

# Half of an engine's start is waiting: two keep a core busy, and more gain nothing.
_PER_CORE = 2


def start_games(
    tables: Sequence[Table], watched: Callable[[Callable[[], None], int], None]
) -> None:
    """Let games that have something to start do so, on the cores that this process may use.

    watched: calls a function as code of the table of a number, so that one that hangs is named.
    Raises: EnvError of the first game that cannot be played at all; the others are not started
    then.
    """
    waiting = [
        (table.index, table.game.prepare) for table in tables if isinstance(table.game, Preparing)
    ]
    if not waiting:
        return
    pool = ThreadPoolExecutor(_PER_CORE * len(os.sched_getaffinity(0)), "start-games")
    try:
        for number, started in [(number, pool.submit(start)) for number, start in waiting]:
            watched(started.result, number)
    finally:
        pool.shutdown(cancel_futures=True)
