"""The state of a run in several processes, as the main process holds and gathers it.

A checkpoint stores it, and the run's rows are accounted for by it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pbt.checkpoint.files import Checkpoint
from pbt.checkpoint.state import split_cut
from pbt.population.interfaces import RunSink
from pbt.records import GameKind
from pbt.runtime.assembly import new_controller, new_roster
from pbt.runtime.assignments import Assignments
from pbt.runtime.blueprint import Blueprint
from pbt.runtime.control import Paused
from pbt.runtime.learner_handle import RemoteLearner
from pbt.runtime.learner_scheduler import LearnerScheduler
from pbt.runtime.placements import ProcessPlan
from pbt.runtime.process_counters import ProcessCounters
from pbt.runtime.process_group import ProcessGroup
from pbt.runtime.roster_sender import RosterSender
from pbt.runtime.shared import SharedMemory
from pbt.runtime.slot_releases import SlotReleases
from pbt.snapshots import FileSnapshotStore


@dataclass(frozen=True)
class RunState:
    """What outlives the other processes of a run.

    shared       the memory of all processes: slots, weights, counters
    assignments  what processes are told when they start
    roster       the members and opponents that are seated
    learners     the members' learners in other processes
    scheduler    the batches of all learners
    counters     what the processes counted, those that died included

    Every row that was produced is trained, dropped for a reason, or still stands in a slot.
    """

    shared: SharedMemory
    assignments: Assignments
    roster: RosterSender
    learners: Mapping[str, RemoteLearner]
    scheduler: LearnerScheduler
    counters: ProcessCounters

    def learners_at(self, processes: Collection[str]) -> list[RemoteLearner]:
        """Return the learners that these processes host."""
        learners = self.learners.values()
        return [learner for learner in learners if not set(learner.hosts).isdisjoint(processes)]

    def checkpoint(
        self, number: int, games: Mapping[GameKind, int], answers: Mapping[str, Paused]
    ) -> Checkpoint:
        """Return the state of the whole run, at rest.

        games: over so far, by kind; answers: of the workers that rest, empty before they start.
        """
        worker, planner = self.assignments.merged(self.roster, answers)
        # Counts are stored as one sum: at a resume, other processes host the roles.
        worker["fillers"][0] |= {
            "produced": self.counters.produced(),
            "dropped": dict(self.counters.dropped() + self.scheduler.dropped),
        }
        config = self.assignments.config
        return self.scheduler.checkpoint(number, config, games, planner, worker)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take over a checkpoint before anything runs; workers replay open games as they start."""
        state, counters = checkpoint.state, self.counters
        split = split_cut(checkpoint, self.shared.slabs, self.shared.shares)
        counters.produced_before, counters.dropped_before = self.assignments.resume(split.workers)
        self.roster.load(state["planner"], state["worker"]["tables"])
        self.shared.counts[:] = state["planner"]["counts"]
        self.scheduler.load(checkpoint, split.batchers)

    # --- rows -------------------------------------------------------------------------------------

    def dropped(self) -> Counter[str]:
        """Rows that were produced and will never be trained, by reason."""
        return self.counters.dropped() + self.scheduler.rows_dropped()

    def rows_left(self) -> int:
        """Rows produced and neither trained nor dropped, as the counters say at this moment."""
        return self.counters.produced() - self.scheduler.rows_trained - self.dropped().total()

    def rows_standing(self, answers: Mapping[str, Paused]) -> int:
        """Rows in slots, counted one by one. answers: of all workers, at rest."""
        standing = sum(answer.standing for answer in answers.values())
        return standing + self.scheduler.rows_waiting()

    def slots_died(self) -> None:
        """Drop the rows in the slots of a dead sampling plane: all that stand nowhere else."""
        self.scheduler.slots_died()
        self.scheduler.dropped["restart"] += self.rows_left() - self.scheduler.rows_at_learners()


def new_run_state(
    blueprint: Blueprint,
    plans: Sequence[ProcessPlan],
    shared: SharedMemory,
    processes: ProcessGroup,
    releases: SlotReleases,
    sink: RunSink,
    store: FileSnapshotStore,
) -> RunState:
    """Build the state at frame 0."""
    roster = RosterSender(new_roster(blueprint), processes.tell_workers)
    shards = sorted(
        (shard.index, plan.name, shard.member) for plan in plans for shard in plan.trains
    )
    learners = {
        place.name: RemoteLearner(
            place,
            [host for _, host, member in shards if member == place.name],
            shared.published[place.name],
            processes.send,
            processes.reachable,
            lambda answer: scheduler.hear(answer),
        )
        for place in blueprint.members
    }
    controller = new_controller(blueprint, learners, roster, sink, store)
    scheduler = LearnerScheduler(
        blueprint.config, learners.values(), shared.slabs, controller, releases.add
    )
    assignments = Assignments(blueprint, plans, shared, store.folder)
    counters = ProcessCounters(shared.board, plans)
    return RunState(shared, assignments, roster, learners, scheduler, counters)
