"""The interface of a running population, which every placement fills."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from pbt.checkpoint.files import Checkpoint
from pbt.checkpoint.state import cut_tensors, digest_of, learner_part, replay_part
from pbt.checkpoint.workers import load_replay, save_replay
from pbt.config.schema import RunConfig
from pbt.models.weights import model_tensors
from pbt.population.controller import Controller
from pbt.records import GameKind
from pbt.runtime.control import SetHyperparams
from pbt.runtime.held_games import HeldGames
from pbt.runtime.learner_scheduler import LearnerScheduler
from pbt.saved import SavedEngine, SavedPlanner, SavedQueue, SavedRun, SavedWorker
from pbt.transport.messages import GameEnd, GamesOver, SlotFull, WorkerMessage
from pbt.transport.slab import Slab


@dataclass(frozen=True)
class ProcessStatus:
    """One process of a run, for people.

    roles       what it hosts: "main", "worker", "server", "learner m0 m2"
    state       "simulating", "waiting", ..., or "starting", "down"
    rate        rows per second over the last seconds: produced by a worker, served by a server,
                trained by a learner; 0 for the main process
    restarts    how often it was started again
    beat_age_s  seconds since its last sign of life
    stage_s     seconds by stage since the run began
    queue       what waits in front of it: full slots for a learner, rows for a server, 0 for others
    """

    name: str
    pid: int
    roles: tuple[str, ...]
    state: str
    rate: float = 0.0
    restarts: int = 0
    beat_age_s: float = 0.0
    stage_s: Mapping[str, float] = field(default_factory=dict)
    queue: int = 0


class Engine(Protocol):
    """One population in one placement. Engines inherit what is the same in all.

    It is used from one thread, and must be closed whatever happened.

    config        in force, as it was last edited
    games         finished and voided games by kind
    scheduler     the members' learners, and the batches on their way to them
    held          games of a rollout that is not over
    began         games have begun, so that the newest checkpoint is no longer all
    """

    config: RunConfig
    began: bool
    held: HeldGames
    games: Counter[GameKind]
    scheduler: LearnerScheduler

    @property
    def rows_trained(self) -> int:
        """Rows that learners have consumed."""
        return self.scheduler.rows_trained

    @property
    def controller(self) -> Controller:
        """The members' clocks, scores and rounds."""
        return self.scheduler.controller

    @property
    def done(self) -> bool:
        """Whether every member finished or failed and the final evaluation is played."""

    def closing(self) -> tuple[int, int]:
        """Games of the final evaluation: (over, planned); none is over while a member learns."""

    def clocks(self) -> dict[str, int]:
        """Return every member's frames consumed."""
        return self.scheduler.clocks()

    def restore(self, checkpoint: Checkpoint) -> int:
        """Take over a stored state before `run`.

        Returns how many open games are already known to be void because they cannot be replayed.
        """

    def take_over_hyperparams(self) -> None:
        """Have the learners train with the controller's values; processes start with them."""
        for name, line in self.scheduler.pipelines.items():
            values = dict(self.controller.members[name].hyperparams)
            line.handle.tell(SetHyperparams(name, values))

    def edit(self, config: RunConfig) -> None:
        """Go on with another configuration, which differs in `pbt.config.resume.LIVE` alone.

        Call it only at rest, and only while a member learns.
        """
        self.config = config
        self.controller.edit(config)

    def run(
        self, between_turns: Callable[[], None], look: Callable[[], None] = lambda: None
    ) -> bool:
        """THE main loop. Returns True when the run is done, False when it was asked to stop.

        between_turns  called between two turns and two rollouts; checkpoints are taken and edits
                       made there
        look           called after every turn, and while a rest is waited for, which takes as long
                       as the slowest game's step, or a rollout; the display is drawn there, and
                       changes nothing

        Raises: EnvError when a game raises the same error twice, EngineError when the run cannot go
        on.
        """

    def at_rest(self) -> AbstractContextManager[None]:
        """Bring the run to rest: inside, nothing moves and all that happened has been recorded.

        A rest within a rest ends with the outer one. Raises: EngineError when the run does not come
        to rest in time; training goes on.
        """

    def take_cut(self, number: int) -> Checkpoint:
        """Return the state of the whole population; take and write it within one rest."""

    def _cut(
        self, number: int, slabs: Sequence[Slab], planner: SavedPlanner, worker: SavedWorker
    ) -> Checkpoint:
        """Return the state of the run at rest. planner, worker: of the whole run, merged."""
        scheduler, lines = self.scheduler, self.scheduler.pipelines.items()
        state = SavedRun(
            self.config.model_dump(mode="json"),
            SavedEngine(dict(self.games), scheduler.rows_trained, scheduler.round),
            self.controller.state(),
            planner,
            worker,
            {name: line.batcher.state() for name, line in lines},
        )
        learners = {name: line.handle.state() for name, line in lines}
        tensors = cut_tensors(learners, slabs, worker)
        for name, line in lines:
            if line.handle.replay is not None:
                tensors[replay_part(name)] = save_replay(line.handle.replay)
        return Checkpoint(number, state, tensors)

    def _take_over(self, checkpoint: Checkpoint, queues: Mapping[str, SavedQueue]) -> None:
        """Go on with a cut's learners, controller and counts. queues: full slots, by member."""
        state, tensors = checkpoint.state, checkpoint.tensors
        self.games = Counter(state.engine.games)
        self.scheduler.rows_trained = state.engine.rows_trained
        self.scheduler.round = state.engine.round
        rhythm = state.config.get("runtime", {}).get("sync")
        self.scheduler.restored = rhythm != self.config.runtime.sync
        for name, line in self.scheduler.pipelines.items():
            line.batcher.load(queues[name])
            line.handle.load(tensors[learner_part(name)])
            # A member that joined begins with an empty one.
            if line.handle.replay is not None and replay_part(name) in tensors:
                load_replay(line.handle.replay, tensors[replay_part(name)])
        self.controller.load(state.controller)

    def _tell(self, message: WorkerMessage) -> None:
        """Have the scheduler or the controller hear what a worker says.

        In rounds games wait for the end of the rollout.
        """
        match message:
            case SlotFull():
                self.scheduler.slot_full(message)
            case _ if self.scheduler.pacing.in_rounds:
                self.held.add(message)
            case _:
                self._tell_games(message)

    def _tell_held(self) -> None:
        """Tell the games of a rollout, in the order of tables and their games."""
        for games in self.held.take():
            self._tell_games(games)

    def _tell_games(self, games: GamesOver | GameEnd) -> None:
        """Have the controller hear of games, and count them."""
        match games:
            case GamesOver():
                self.games["training"] += len(games.tables)
                self.controller.on_games(games)
            case GameEnd():
                self.games[games.plan.kind] += 1
                self.controller.on_game(games)

    def needed(self) -> set[str]:
        """Return the ids of snapshots that sit now or that a next game may seat; only at rest."""

    def remove_snapshots(self, snapshot_ids: set[str]) -> None:
        """Seat these snapshots no more."""

    def rows_produced(self) -> int: ...

    def rows_standing(self) -> int:
        """Rows produced and neither trained nor dropped yet; exact only at rest."""

    def dropped(self) -> Counter[str]:
        """Rows that were produced and will never be trained, by reason."""

    @property
    def stage_s(self) -> Mapping[str, float]:
        """Seconds by stage, summed over processes."""

    def processes(self) -> list[ProcessStatus]:
        """Return the status of every process of the run, the calling one first."""

    def weights_digest(self) -> str:
        """Return a SHA-256 over every member's weights, in order; equal runs have equal digests."""
        lines = self.scheduler.pipelines.values()
        return digest_of(model_tensors(line.handle.state()) for line in lines)

    def close(self) -> None:
        """End every process and release shared memory; what is gone already raises nothing."""
