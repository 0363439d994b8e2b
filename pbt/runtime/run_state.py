"""The state of a run in several processes: split over them at a start, gathered again at rest.

A checkpoint stores it, and the run's rows are accounted for by it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from pbt.checkpoint.files import Checkpoint
from pbt.checkpoint.resharding import merge_workers
from pbt.checkpoint.state import split_cut
from pbt.population.interfaces import RunSink
from pbt.runtime.assembly import new_controller, new_roster
from pbt.runtime.blueprint import Blueprint
from pbt.runtime.control import Paused, Permits
from pbt.runtime.final_evaluation import FinalEvaluation
from pbt.runtime.learner_handle import RemoteLearner
from pbt.runtime.learner_scheduler import LearnerScheduler
from pbt.runtime.placements import ProcessPlan
from pbt.runtime.process_counters import ProcessCounters
from pbt.runtime.process_group import ProcessGroup
from pbt.runtime.roster_sender import RosterSender
from pbt.runtime.shared import SharedMemory
from pbt.saved import SavedFiller, SavedPlanner, SavedQueue, SavedWorker
from pbt.snapshots import FileSnapshotStore
from pbt.transport.messages import JsonState, RolloutPermit


class RunState:
    """What outlives the other processes of a run.

    config       what processes that start from now on are configured by
    shared       the memory of all processes: slots, weights, counters
    roster       the members and opponents that are seated
    final_games  the final evaluation, dealt out to the workers
    learners     the members' learners in other processes
    scheduler    the batches of all learners
    counters     what the processes counted, those that died included

    Every row that was produced is trained, dropped for a reason, or still stands in a slot.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        shared: SharedMemory,
        processes: ProcessGroup,
        sink: RunSink,
        store: FileSnapshotStore,
    ) -> None:
        """Begin at frame 0."""
        config, plans = blueprint.config, list(processes.plans.values())
        self.config, self.shared, self.counters = config, shared, ProcessCounters(processes)
        self._spec, self._processes, self._snapshots = blueprint.spec, processes, store.folder
        # By partition, the states that workers take over at their next start, if not empty ones.
        self._resumed: list[SavedWorker] | None = None
        # Slots that are on their way back, by worker.
        self._released: dict[str, list[RolloutPermit]] = {}
        tell, counts = processes.tell_workers, shared.counts
        self.roster = RosterSender(new_roster(blueprint), tell, counts=counts)
        final_games, dealt = blueprint.final_games, not config.runtime.in_rounds
        self.final_games = FinalEvaluation(final_games, processes.workers(), dealt=dealt)
        shards = sorted(
            (shard.index, plan.name, shard.member) for plan in plans for shard in plan.trains
        )
        self.learners = {
            place.name: RemoteLearner(
                place,
                [host for _, host, member in shards if member == place.name],
                shared.published[place.name],
                processes.send,
                processes.reachable,
                lambda answer: self.scheduler.hear(answer),
                shared.replays[place.name],
            )
            for place in blueprint.members
        }
        controller = new_controller(blueprint, self.learners, self.roster, sink, store)
        self.scheduler = LearnerScheduler(
            config, self.learners.values(), shared.slabs, controller, self._release
        )

    def learners_at(self, processes: Collection[str]) -> list[RemoteLearner]:
        """Return the learners that these processes host."""
        learners = self.learners.values()
        return [learner for learner in learners if not set(learner.hosts).isdisjoint(processes)]

    # --- starts and rests -------------------------------------------------------------------------

    @property
    def away(self) -> bool:
        """Whether the place of the snapshots is gone, such as an unmounted disk."""
        return not self._snapshots.parent.is_dir()

    def orders(self, processes: Sequence[str]) -> dict[str, tuple[JsonState, list[int]]]:
        """Return the orders of processes that start together, and the descriptors of each."""
        members = self.scheduler.controller.members
        general = {
            "config": self.config.model_dump(mode="json"),
            "snapshots": str(self._snapshots),
            "hyperparams": {name: dict(member.hyperparams) for name, member in members.items()},
            "servers": sum(one.serves is not None for one in self._processes.plans.values()),
            "measured": [self._spec.replayable, self._spec.chance],
        }
        plans = [self._processes.plans[name] for name in processes]
        tables = self._tables() if any(plan.groups for plan in plans) else {}
        found = {}
        for plan in plans:
            memory, descriptors = self.shared.handles(plan)
            found[plan.name] = general | tables.get(plan.name, {}) | {"memory": memory}, descriptors
        return found

    def _tables(self) -> dict[str, JsonState]:
        """Return every worker's tables, and what it must know of players.

        Tables are those of the checkpoint at the first start after a resume, else empty ones.
        """
        states, self._resumed = self._next_states(), None
        games = self.final_games.shares(self.roster.closing_begun)
        planner = self.roster.state(self.shared.counts, states)
        return {
            plan.name: {
                "source": source,
                "partitions": len(states),
                "states": [states[group] for group in plan.groups],
                "planner": planner,
                "closing": self.final_games.begun,
                "closing_games": games[plan.name],
            }
            for source, plan in enumerate(self._workers())
        }

    def _workers(self) -> list[ProcessPlan]:
        return [plan for plan in self._processes.plans.values() if plan.groups]

    def _next_states(self) -> list[SavedWorker]:
        return self._resumed or self.shared.empty_workers()

    def merged(self, answers: Mapping[str, Paused]) -> tuple[SavedWorker, SavedPlanner]:
        """Return the states of all workers as one, with all row counts, and of matchmaking.

        answers: of the workers that rest, empty before they start.
        """
        workers = self._workers() if answers else ()
        groups = [group for plan in workers for group in answers[plan.name].groups]
        worker = merge_workers(groups or self._next_states())
        # Counts are stored as one sum: at a resume, other processes host the roles.
        dropped = dict(self.counters.dropped() + self.scheduler.dropped)
        first, *others = (SavedFiller(one.pool, 0, {}) for one in worker.fillers)
        first = replace(first, produced=self.counters.produced(), dropped=dropped)
        worker = replace(worker, fillers=[first, *others])
        return worker, self.roster.state(self.shared.counts, [worker])

    def restore(self, checkpoint: Checkpoint) -> Mapping[str, SavedQueue]:
        """Take over a checkpoint before anything runs; workers replay open games as they start.

        Returns its full slots, by member.
        """
        state, counters, self._resumed = checkpoint.state, self.counters, []
        split = split_cut(checkpoint, self.shared.slabs, self.shared.shares)
        for worker in split.workers:
            for one in worker.fillers:
                counters.produced_before += one.produced
                counters.dropped_before.update(one.dropped)
            uncounted = [SavedFiller(one.pool, 0, {}) for one in worker.fillers]
            self._resumed.append(replace(worker, fillers=uncounted))
        self.roster.load(state.planner, state.worker)
        self.shared.counts[:] = state.planner.counts
        return split.queues

    # --- slots and rows ---------------------------------------------------------------------------

    def _release(self, permit: RolloutPermit) -> None:
        owner = self.shared.owner(permit.role, permit.slot)
        self._released.setdefault(owner, []).append(permit)

    def send_released(self) -> None:
        """Send every worker the slots that came back since the last call.

        Those of workers that have died are forgotten: their successors have all slots free.
        """
        for name, permits in self._released.items():
            self._processes.send(name, Permits(tuple(permits)))
        self._released.clear()

    def dropped(self) -> Counter[str]:
        """Rows that were produced and will never be trained, by reason."""
        return self.counters.dropped() + self.scheduler.rows_dropped()

    def rows_left(self) -> int:
        """Rows produced and neither trained nor dropped, as the counters say at this moment."""
        return self.counters.produced() - self.scheduler.rows_trained - self.dropped().total()

    def slots_died(self) -> None:
        """Drop the rows in the slots of a dead sampling plane: all that stand nowhere else."""
        self.scheduler.slots_died()
        self.scheduler.dropped["restart"] += self.rows_left() - self.scheduler.rows_at_learners()
