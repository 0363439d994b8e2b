"""`pbt.runtime.entry` for tests, with four variables of the environment.

ARENA_TEST_LOGS     writes down what it acted for, gathered and copied, as rows of int64 in files of
                    its own in that folder; `routing.py` reads them
ARENA_TEST_FAILING  every update of that member raises
ARENA_TEST_FAULT    makes that fault of `wiring_faults.py`
ARENA_TEST_ROUNDS   makes that change of `round_faults.py`
"""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pbt.algorithms.base import Reducer
from pbt.algorithms.batch import Batch
from pbt.config.semantics import member_number
from pbt.inference.policy_server import NetworkPolicy, PolicyServer
from pbt.learning.learner import Learner
from pbt.learning.statistics import UpdateStats
from pbt.processes.tie_to_parent import leave, settle
from pbt.runtime import process
from pbt.runtime.control import Copy, Gather, LearnerOrder, Train
from pbt.runtime.local_learner import LocalLearner
from pbt.transport.messages import ActionRequest, ActionsReady
from tests.pbt.runtime import round_faults, wiring_faults

LOGS, FAILING, FAULT = "ARENA_TEST_LOGS", "ARENA_TEST_FAILING", "ARENA_TEST_FAULT"
ROUNDS = "ARENA_TEST_ROUNDS"


class Log:
    """An append-only table of one process; whole rows only, whenever it is killed."""

    def __init__(self, name: str) -> None:
        path = Path(os.environ[LOGS]) / f"{name}-{os.getpid()}"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, *columns: Any) -> None:
        """Arrays of one length and numbers."""
        rows = max(np.size(column) for column in columns)
        table = np.stack(
            [np.broadcast_to(np.asarray(column), rows).astype(np.int64) for column in columns],
            axis=1,
        )
        os.write(self._file, np.ascontiguousarray(table).tobytes())


def watch() -> None:
    """Listen to the policy server and the learners' host."""
    acted, gathered, copied = Log("acted"), Log("gathered"), Log("copied")
    copies, batches = Counter[str](), Counter[str]()
    serve_all, tell = PolicyServer.serve_all, LocalLearner.tell

    def served(self: PolicyServer, requests: Sequence[ActionRequest]) -> list[ActionsReady]:
        ready = serve_all(self, requests)
        for request in requests:
            hosted = self._policies[request.policy]
            if isinstance(hosted, NetworkPolicy) and hosted._published is not None:
                weights = request.policy, hosted._publications, hosted.version
                acted.write(request.keys.view(np.int64), request.steps, *weights)
        return ready

    def gathering(self: LocalLearner, slots: Sequence[int]) -> None:
        name, at, column = self.name, list(slots), self._batches.slabs[self.role].column
        valid = column["valid"][at]
        rows = [column[key][at][valid] for key in ("policy", "version")]
        origin = column["origin"][at][valid]
        if valid.any():
            gathered.write(
                *origin.T, *rows, self.policy, self.role, copies[name], self.version, batches[name]
            )
        batches[name] += 1

    def telling(self: LocalLearner, order: LearnerOrder) -> None:
        if isinstance(order, Gather):
            gathering(self, order.slots)
        tell(self, order)
        if isinstance(order, Copy):
            copies[self.name] += 1
            copied.write(
                self.policy, copies[self.name], self.shard.index, self.published.publications
            )

    PolicyServer.serve_all = served  # type: ignore[method-assign]
    LocalLearner.tell = telling  # type: ignore[method-assign]


def watch_versions() -> None:
    """Listen to what learners publish, and to the lag that their updates report."""
    published, trained = Log("published"), Log("trained")
    batches = Counter[str]()
    publish, update = LocalLearner.publish, Learner.update

    def publishing(self: LocalLearner) -> None:
        publish(self)
        published.write(self.policy, self.published.publications, self.learner.version)

    def updating(
        self: Learner, batch: Batch, reducer: Reducer | None = None, phase: int | None = None
    ) -> UpdateStats:
        version, name = self.version, self.member.split("/")[-1]
        stats = update(self, batch, reducer, phase)
        lags = round(stats.lag_mean * stats.rows), stats.lag_max
        trained.write(member_number(name), batches[name], version, *lags)
        batches[name] += 1
        return stats

    LocalLearner.publish = publishing  # type: ignore[method-assign]
    Learner.update = updating  # type: ignore[method-assign]


def fail(member: str) -> None:
    """Let nothing be learned by this member."""
    tell = LocalLearner.tell

    def telling(self: LocalLearner, order: LearnerOrder) -> None:
        if self.name == member and isinstance(order, Train):
            raise ArithmeticError("this member cannot learn")
        tell(self, order)

    LocalLearner.tell = telling  # type: ignore[method-assign]


if __name__ == "__main__":
    settle(int(sys.argv[1]))
    if LOGS in os.environ:
        watch()
        watch_versions()
    if FAILING in os.environ:
        fail(os.environ[FAILING])
    if FAULT in os.environ:
        getattr(wiring_faults, os.environ[FAULT])(setattr)
    if ROUNDS in os.environ:
        getattr(round_faults, os.environ[ROUNDS])(setattr)
    leave(process.main(int(sys.argv[1])))
