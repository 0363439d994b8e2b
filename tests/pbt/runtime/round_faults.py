"""What would make rounds depend on the placement, and sleeps (bench/sleepy.py), which must not.

Each function changes the program in the process that it is called in; child processes call the one
that the environment names (`checked_process`).
"""

from typing import Any

import numpy as np

from bench.sleepy import sleeps
from pbt.learning import lanes
from pbt.population import payoff_reports
from pbt.runtime import placements
from pbt.runtime.engine import Engine
from pbt.runtime.placements import Shard
from pbt.transport.messages import SlotFull, WorkerMessage
from tests.pbt.runtime.wiring_faults import Patch

__all__ = ["games_as_they_come", "rows_as_they_come", "shards_by_workers", "sleeps"]


def rows_as_they_come(patch: Patch) -> None:
    """Batches are in the order in which slots were filled."""

    def unsorted(keys: Any) -> Any:
        return np.arange(np.shape(keys)[-1])

    class Numpy:
        lexsort = staticmethod(unsorted)

        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

    patch(lanes, "np", Numpy())


def games_as_they_come(patch: Patch) -> None:
    """Games are told at once, so that rates of winning change within a rollout, by each of them."""
    patch(payoff_reports, "REPORT_EVERY_GAMES", 1)

    def telling(self: Engine, message: WorkerMessage) -> None:
        if isinstance(message, SlotFull):
            self.scheduler.slot_full(message)
        else:
            self._tell_games(message)

    patch(Engine, "_tell", telling)


def shards_by_workers(patch: Patch) -> None:
    """A member is trained in as many parts as there are workers."""
    owned = placements._owned

    def parted(config: Any, members: tuple[str, ...], worker: int, workers: int) -> Any:
        if workers == 1:
            return owned(config, members, worker, workers)
        return tuple(Shard(member, worker, workers) for member in members)

    patch(placements, "_owned", parted)
