"""The state of a run in several processes, as the main process holds and gathers it.

A checkpoint stores it, and the run's rows are accounted for by it.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from pbt.checkpoint.files import Checkpoint
from pbt.checkpoint.state import split_cut
from pbt.population.interfaces import RunSink
from pbt.runtime.assembly import new_controller, new_roster
from pbt.runtime.assignments import Assignments
from pbt.runtime.blueprint import Blueprint
from pbt.runtime.control import Paused, Permits
from pbt.runtime.final_evaluation import FinalEvaluation
from pbt.runtime.learner_handle import RemoteLearner
from pbt.runtime.learner_scheduler import LearnerScheduler
from pbt.runtime.process_counters import ProcessCounters
from pbt.runtime.process_group import ProcessGroup
from pbt.runtime.roster_sender import RosterSender
from pbt.runtime.shared import SharedMemory
from pbt.saved import SavedFiller, SavedPlanner, SavedQueue, SavedWorker
from pbt.snapshots import FileSnapshotStore
from pbt.transport.messages import RolloutPermit


class RunState:
    """What outlives the other processes of a run.

    shared       the memory of all processes: slots, weights, counters
    assignments  what processes are told when they start
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
        self.shared, self.counters = shared, ProcessCounters(processes)
        self._processes = processes
        # Slots that are on their way back, by worker.
        self._released: dict[str, list[RolloutPermit]] = {}
        self.roster = RosterSender(new_roster(blueprint), processes.tell_workers)
        final_games = config.evaluation.final_games * len(blueprint.members)
        self.final_games = FinalEvaluation(final_games, processes.workers())
        self.assignments = Assignments(
            blueprint, plans, shared, self.roster, self.final_games, store.folder
        )
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

    def merged(self, answers: Mapping[str, Paused]) -> tuple[SavedWorker, SavedPlanner]:
        """Return the states of all workers as one, with all row counts, and of matchmaking.

        answers: of the workers that rest, empty before they start.
        """
        worker, planner = self.assignments.merged(answers)
        # Counts are stored as one sum: at a resume, other processes host the roles.
        dropped = dict(self.counters.dropped() + self.scheduler.dropped)
        first = SavedFiller(worker.fillers[0].pool, self.counters.produced(), dropped)
        return replace(worker, fillers=[first, *worker.fillers[1:]]), planner

    def restore(self, checkpoint: Checkpoint) -> Mapping[str, SavedQueue]:
        """Take over a checkpoint before anything runs; workers replay open games as they start.

        Returns its full slots, by member.
        """
        state, counters = checkpoint.state, self.counters
        split = split_cut(checkpoint, self.shared.slabs, self.shared.shares)
        counters.produced_before, counters.dropped_before = self.assignments.resume(split.workers)
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
