"""Starting games that need long before their first move, several tables at a time."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from pbt.envs.contract import Preparing
from pbt.sampling.table import Table

# Half of an engine's start is waiting, so two of them keep a core busy. More gain nothing.
_PER_CORE = 2


def start_games(tables: Sequence[Table], call: Callable[[Callable[[], None], int], None]) -> None:
    """Start the games that have something to start, on the cores that this process may use.

    call: calls a function as code of the table with this number, so that a hanging one is named.
    Raises the EnvError of the first game that cannot be started; later ones are then not started.
    """
    waiting = [
        (table.index, table.game.prepare) for table in tables if isinstance(table.game, Preparing)
    ]
    if not waiting:
        return
    pool = ThreadPoolExecutor(_PER_CORE * len(os.sched_getaffinity(0)), "start-games")
    try:
        for number, started in [(number, pool.submit(start)) for number, start in waiting]:
            call(started.result, number)
    finally:
        pool.shutdown(cancel_futures=True)
