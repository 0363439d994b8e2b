"""Assignments: what a process is told when it starts, and the workers' states put together again.

A run's state is split over its workers at a start, and merged from their answers at rest.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pbt.checkpoint.resharding import merge_workers
from pbt.population.members import Member
from pbt.runtime.blueprint import Blueprint
from pbt.runtime.control import Paused
from pbt.runtime.final_evaluation import FinalEvaluation
from pbt.runtime.placements import ProcessPlan
from pbt.runtime.roster_sender import RosterSender
from pbt.runtime.shared import SharedMemory, share_state
from pbt.transport.messages import JsonState


class Assignments:
    """Splits the state of a run over its processes, and merges it again.

    config  what processes that start from now on are configured by
    """

    def __init__(
        self,
        blueprint: Blueprint,
        plans: Sequence[ProcessPlan],
        shared: SharedMemory,
        snapshots: Path,
    ) -> None:
        """snapshots: the folder of the snapshot store."""
        self._measured = [blueprint.spec.replayable, blueprint.spec.chance]
        self.config, self._shared, self._snapshots = blueprint.config, shared, snapshots
        self._plans = {plan.name: plan for plan in plans}
        self._workers = [plan for plan in plans if plan.groups]
        self._servers = sum(plan.serves is not None for plan in plans)
        # By partition, the states that workers take over at their next start; None: empty tables.
        self._resumed: list[JsonState] | None = None

    @property
    def away(self) -> bool:
        """Whether the place of the snapshots is gone, such as an unmounted disk."""
        return not self._snapshots.parent.is_dir()

    def assignment(
        self, name: str, members: Mapping[str, Member], tables: JsonState
    ) -> tuple[JsonState, list[int]]:
        """Return the assignment of one process, and the descriptors that it gets.

        tables: the worker's part of what `tables` returned, empty for other processes.
        """
        plan = self._plans[name]
        memory, descriptors = self._shared.handles(plan)
        general = {
            "config": self.config.model_dump(mode="json"),
            "memory": memory,
            "snapshots": str(self._snapshots),
            "hyperparams": {member.name: dict(member.hyperparams) for member in members.values()},
            "servers": self._servers,
            "measured": self._measured,
        }
        return {**general, **tables}, descriptors

    def tables(self, roster: RosterSender, closing: FinalEvaluation) -> dict[str, JsonState]:
        """Return every worker's tables, and what it must know of players.

        Tables are those of the checkpoint at the first start after a resume, else empty ones.
        """
        resumed: Sequence[JsonState | None] = self._resumed or [None for _ in self._shared.shares]
        self._resumed = None
        games = closing.shares(roster.closing_begun)
        playing = [table for state in resumed if state for table in state["tables"]]
        planner = roster.state(self._shared.counts, playing)
        return {
            plan.name: {
                "source": source,
                "groups": [
                    {"share": share_state(self._shared.shares[group]), "state": resumed[group]}
                    for group in plan.groups
                ],
                "planner": planner,
                "closing": closing.begun,
                "closing_games": games[plan.name],
            }
            for source, plan in enumerate(self._workers)
        }

    def resume(self, workers: list[JsonState]) -> tuple[int, Counter[str]]:
        """Have workers take over these states, one per partition, at their next start.

        Returns what the states had counted: rows produced, and rows dropped by reason.
        """
        produced, dropped = 0, Counter[str]()
        for filler in (filler for worker in workers for filler in worker["fillers"]):
            produced += filler["produced"]
            dropped.update(filler["dropped"])
            filler["produced"], filler["dropped"] = 0, {}
        self._resumed = workers
        return produced, dropped

    def merged(
        self, roster: RosterSender, paused: Mapping[str, Paused]
    ) -> tuple[JsonState, JsonState]:
        """Return the states of all workers as one, with no row counts, and of matchmaking.

        paused: the workers' answers at rest, empty before they were started.
        """
        if paused:
            groups = [group for plan in self._workers for group in paused[plan.name].groups]
        else:
            groups = self._resumed or self._shared.empty_workers()
        worker = merge_workers(groups)
        planner = roster.state(self._shared.counts, worker["tables"])
        for filler in worker["fillers"]:
            filler["produced"], filler["dropped"] = 0, {}
        return worker, planner
