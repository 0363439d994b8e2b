"""Assignments: what a process is told when it starts, and the workers' states put together again.

A run's state is split over its workers at a start, and merged from their answers at rest.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from pbt.checkpoint.resharding import merge_workers
from pbt.population.members import Member
from pbt.runtime.blueprint import Blueprint
from pbt.runtime.control import Paused
from pbt.runtime.final_evaluation import FinalEvaluation
from pbt.runtime.placements import ProcessPlan
from pbt.runtime.roster_sender import RosterSender
from pbt.runtime.shared import SharedMemory
from pbt.saved import SavedFiller, SavedPlanner, SavedWorker
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
        roster: RosterSender,
        final_games: FinalEvaluation,
        snapshots: Path,
    ) -> None:
        """snapshots: the folder of the snapshot store."""
        self._measured = [blueprint.spec.replayable, blueprint.spec.chance]
        self.config, self._shared, self._snapshots = blueprint.config, shared, snapshots
        self._roster, self._final_games = roster, final_games
        self._plans = {plan.name: plan for plan in plans}
        self._workers = [plan for plan in plans if plan.groups]
        self._servers = sum(plan.serves is not None for plan in plans)
        # By partition, the states that workers take over at their next start, if not empty ones.
        self._resumed: list[SavedWorker] | None = None

    @property
    def away(self) -> bool:
        """Whether the place of the snapshots is gone, such as an unmounted disk."""
        return not self._snapshots.parent.is_dir()

    def orders(
        self, processes: Sequence[str], members: Mapping[str, Member]
    ) -> dict[str, tuple[JsonState, list[int]]]:
        """Return the orders of processes that start together, and the descriptors of each."""
        general = {
            "config": self.config.model_dump(mode="json"),
            "snapshots": str(self._snapshots),
            "hyperparams": {member.name: dict(member.hyperparams) for member in members.values()},
            "servers": self._servers,
            "measured": self._measured,
        }
        plans = [self._plans[name] for name in processes]
        tables = self._tables() if any(plan.groups for plan in plans) else {}
        found = {}
        for plan in plans:
            memory, descriptors = self._shared.handles(plan)
            found[plan.name] = general | tables.get(plan.name, {}) | {"memory": memory}, descriptors
        return found

    def _tables(self) -> dict[str, JsonState]:
        """Return every worker's tables, and what it must know of players.

        Tables are those of the checkpoint at the first start after a resume, else empty ones.
        """
        states, self._resumed = self._next_states(), None
        games = self._final_games.shares(self._roster.closing_begun)
        planner = self._roster.state(self._shared.counts, states)
        return {
            plan.name: {
                "source": source,
                "partitions": len(states),
                "states": [states[group] for group in plan.groups],
                "planner": planner,
                "closing": self._final_games.begun,
                "closing_games": games[plan.name],
            }
            for source, plan in enumerate(self._workers)
        }

    def _next_states(self) -> list[SavedWorker]:
        return self._resumed or self._shared.empty_workers()

    def resume(self, workers: list[SavedWorker]) -> tuple[int, Counter[str]]:
        """Have workers take over these states, one per partition, at their next start.

        Returns what the states had counted: rows produced, and rows dropped by reason.
        """
        produced, dropped = 0, Counter[str]()
        for filler in (filler for worker in workers for filler in worker.fillers):
            produced += filler.produced
            dropped.update(filler.dropped)
        self._resumed = [_uncounted(worker) for worker in workers]
        return produced, dropped

    def merged(self, paused: Mapping[str, Paused]) -> tuple[SavedWorker, SavedPlanner]:
        """Return the states of all workers as one, with no row counts, and of matchmaking.

        paused: the workers' answers at rest, empty before they were started.
        """
        groups = [
            group for plan in self._workers if paused for group in paused[plan.name].groups
        ] or self._next_states()
        worker = _uncounted(merge_workers(groups))
        return worker, self._roster.state(self._shared.counts, [worker])


def _uncounted(worker: SavedWorker) -> SavedWorker:
    """The state without row counts, which the main process has."""
    return replace(worker, fillers=[SavedFiller(one.pool, 0, {}) for one in worker.fillers])
