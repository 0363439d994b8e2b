"""Counters and stage times of all processes of a run, those that died included.

The board holds the counters of living processes alone.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from pbt.runtime.engine import ProcessStatus
from pbt.runtime.placements import ProcessPlan
from pbt.runtime.process_group import ProcessGroup
from pbt.transport.process_board import PHASES

STAGES = ("simulate", "infer", "wait", "gather", "learn")
DROPPED = ("voided", "generation")
# A rate is measured over at least this time.
RATE_OVER_S = 1.0
_MOMENTARY = ("beat_s", "phase", "phase_since_s", "detail", "queue")


class ProcessCounters:
    """Adds up what the processes count.

    produced_before  rows produced before the checkpoint that the run resumed from
    dropped_before   rows dropped before it, by reason
    """

    def __init__(self, processes: ProcessGroup) -> None:
        self._processes = processes
        self._buried = {name: Counter[str]() for name in processes.plans}
        # (time, rows done, rows per second) when each process's rate was last measured.
        self._measured: dict[str, tuple[float, float, float]] = {}
        self.produced_before = 0
        self.dropped_before: Counter[str] = Counter()

    def of(self, name: str) -> dict[str, float]:
        """Return everything that a process and its predecessors counted since the run began."""
        buried = self._buried[name]
        return {
            column: value + buried[column]
            for column, value in self._processes.rows[name].read().items()
            if column not in _MOMENTARY
        }

    def bury(self, names: Sequence[str]) -> None:
        """Keep what these processes counted, now that they are dead, and clear their rows."""
        for name in names:
            self._buried[name] = Counter(self.of(name))
            self._processes.rows[name].clear()

    def total(self, column: str) -> float:
        return sum(self.of(name)[column] for name in self._buried)

    def produced(self) -> int:
        return self.produced_before + int(self.total("produced"))

    def dropped(self) -> Counter[str]:
        """Rows that workers dropped, by reason."""
        return self.dropped_before + Counter(
            {reason: int(self.total(f"dropped_{reason}")) for reason in DROPPED}
        )

    def stage_s(self) -> dict[str, float]:
        """Seconds by stage, summed over processes."""
        return {stage: self.total(f"{stage}_s") for stage in STAGES}

    def statuses(self, waiting: Mapping[str, int]) -> list[ProcessStatus]:
        """Return what every process does now.

        waiting: full slots in front of each member's learner.
        """
        return [
            self._status(plan, sum(waiting[shard.member] for shard in plan.trains))
            for plan in self._processes.plans.values()
        ]

    def _status(self, plan: ProcessPlan, waiting: int) -> ProcessStatus:
        processes = self._processes
        child, row = processes.children.get(plan.name), processes.rows[plan.name].read()
        counted, now = self.of(plan.name), time.monotonic()
        return ProcessStatus(
            plan.name,
            child.pid if child else 0,
            plan.roles,
            PHASES[int(row["phase"])] if child else "down",
            self._rate(plan, counted, now),
            processes.restarts[plan.name],
            now - max(row["beat_s"], child.started_s) if child else 0.0,
            stage_s={stage: counted[f"{stage}_s"] for stage in STAGES if counted[f"{stage}_s"]},
            queue=waiting + int(row["queue"]),
        )

    def _rate(self, plan: ProcessPlan, counted: Mapping[str, float], now: float) -> float:
        """Rows per second: produced by a worker, trained by a learner, served by a server."""
        done = counted[
            "produced" if plan.groups else "trained" if plan.serves is None else "rows_served"
        ]
        then, before, rate = self._measured.get(plan.name, (now, done, 0.0))
        if now - then >= RATE_OVER_S:
            then, before, rate = now, done, (done - before) / (now - then)
        self._measured[plan.name] = (then, before, rate)
        return rate
