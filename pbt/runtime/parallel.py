"""The engine of the parallel placements: the main process decides, the others play, act and learn.

`placements.py` says which process hosts what, `control.py` has every message between them.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import torch

from pbt.checkpoint.files import Checkpoint
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.errors import PbtError
from pbt.population.interfaces import ControlSource, RunSink
from pbt.processes.freed_memory import return_freed_memory
from pbt.processes.messages import Failed
from pbt.records import GameKind
from pbt.runtime import control
from pbt.runtime.backpressure import SinkBackpressure
from pbt.runtime.blueprint import blueprint_of
from pbt.runtime.engine import Engine, ProcessStatus
from pbt.runtime.fault_domains import FaultDomains
from pbt.runtime.held_games import HeldGames
from pbt.runtime.pausing import Rest
from pbt.runtime.placements import process_plans
from pbt.runtime.process_group import ProcessGroup
from pbt.runtime.run_state import RunState
from pbt.runtime.shared import SharedMemory
from pbt.snapshots import FileSnapshotStore
from pbt.transport.messages import GameEnd, GamesOver, SlotFull

POLL_S = 0.05


class ParallelEngine(Engine):
    """One population in several processes, and the loop that hears them and gives them work."""

    def __init__(
        self,
        config: RunConfig,
        spec: EnvSpec,
        sink: RunSink,
        store: FileSnapshotStore,
        control: ControlSource,
    ) -> None:
        """config: resolved (`placements.resolve`). Nothing is started before `run`."""
        torch.set_num_threads(config.runtime.torch_threads)
        return_freed_memory()
        self.config = config
        self._control, self._backlog = control, SinkBackpressure(sink)
        blueprint = blueprint_of(config, spec)
        plans = process_plans(config, [member.name for member in blueprint.members])
        shared = SharedMemory(blueprint, plans)
        limits_s = {"game": config.env.timeout_s, "learning": config.learning.timeout_s}
        silent_after_s = config.runtime.silent_after_s
        self._processes = ProcessGroup(plans, shared.board, silent_after_s, limits_s)
        self._state = RunState(blueprint, shared, self._processes, sink, store)
        self.scheduler = self._state.scheduler
        # A worker may have to step every table of a group before it hears that it should rest.
        turn_s = config.env.timeout_s * max(len(share.tables) for share in shared.shares)
        self._rest = Rest(
            self._processes, self.scheduler, turn_s, self._turn_and_look, self.rows_produced
        )
        self._domains = FaultDomains(self._processes, self._state, self._rest, sink)
        self.began = False
        self._look: Callable[[], None] = lambda: None
        self._ended: PbtError | None = None
        self._began_s = 0.0
        self.games: Counter[GameKind] = Counter()
        self.held = HeldGames()

    @property
    def done(self) -> bool:
        over = self._state.final_games.over
        return over and self.scheduler.pacing.between_rollouts and not self.held

    def closing(self) -> tuple[int, int]:
        # A training-time game that ends only now counts too, so more than the plan may be over.
        planned = self._state.final_games.games
        return min(self._state.roster.evaluated.closing, planned), planned

    # --- the loop ---------------------------------------------------------------------------------

    def run(
        self, between_turns: Callable[[], None], look: Callable[[], None] = lambda: None
    ) -> bool:
        self._look = look
        while not self.done:
            if self._control.stop_requested():
                return False
            self._turn()
            look()
            between_turns()
        return True

    def _turn(self) -> None:
        """Hear the processes, start again those that died, and give the others work.

        An error that ends the run is raised again at every later turn, so that no caller of
        `at_rest` can swallow it.
        """
        if self._ended is None:
            try:
                return self._one_turn()
            except PbtError as error:
                self._ended = error
        raise self._ended

    def _turn_and_look(self) -> None:
        """One turn while a rest is waited for, when `run` itself stands still."""
        self._turn()
        self._look()

    def _one_turn(self) -> None:
        self._domains.start_due()
        turn_every_s = self.scheduler.pacing.turn_every_s
        time.sleep(max(0.0, self._began_s + turn_every_s - time.monotonic()))
        self._began_s = time.monotonic()
        for name, message in self._processes.hear(POLL_S):
            self._route(name, message)
        for domain, reason in self._processes.troubles().items():
            for name, message in self._processes.bury(domain):
                self._route(name, message)
            self._domains.died(domain, reason)
        pacing = self.scheduler.pacing
        if pacing.between_rollouts:
            self._tell_held()
        self.scheduler.dispatch()
        if pacing.between_rollouts:
            self._close_if_finished()
            self._state.roster.send_due(at_once=self.scheduler.resting or pacing.in_rounds)
        self._state.send_released()
        self._have_tables_play()

    def _route(self, name: str, message: object) -> None:
        match message:
            case SlotFull():
                self._tell(message)
            case GamesOver():
                self._state.roster.games_over(message)
                self._tell(message)
            case GameEnd():
                self._state.roster.game_over(message)
                self._tell(message)
            case _ if isinstance(message, control.LearnerAnswer):
                self._state.learners[message.member].hear(name, message)
            case control.GameError():
                self._domains.errors.game_raised(message)
            case control.LongGame():
                self.controller.warn(message.text)
            case Failed():
                self._domains.errors.process_failed(message)
            case control.Paused():
                self._rest.answered(name, message)
            case control.TurnsPlayed():
                self.scheduler.pacing.played(name)
            case control.Quiet():
                self._state.final_games.quiet.add(name)
            case control.Ready() if self._processes.reachable(name):
                self.began |= self._domains.ready(name)

    # --- pace -------------------------------------------------------------------------------------

    def _have_tables_play(self) -> None:
        """Tell the workers how far they may play, unless they know or still start."""
        processes, scheduler = self._processes, self.scheduler
        if not scheduler.pacing.between_rollouts or not processes.plane_is_ready:
            return
        if self._state.final_games.over:
            return
        hold, busy = self._backlog.full() or scheduler.behind(), scheduler.resting or scheduler.busy
        workers, pacing = processes.workers(), scheduler.pacing
        play = pacing.next(workers, hold=hold, busy=busy, round=scheduler.round)
        if play is not None:
            processes.tell_workers(play)
            if pacing.overlaps:
                scheduler.learn_round(publish=False)

    def _close_if_finished(self) -> None:
        """Begin the final evaluation when the last member has finished or failed."""
        final_games = self._state.final_games
        if self.controller.finished and not final_games.begun and self.scheduler.idle:
            final_games.begun = True
            for name, games in final_games.shares(self._state.roster.closing_begun).items():
                self._processes.send(name, control.CloseWith(games))

    def close(self) -> None:
        """End every process and give shared memory back."""
        self._processes.close()
        self._state.shared.close()

    # --- rest and resume --------------------------------------------------------------------------

    def at_rest(self) -> AbstractContextManager[None]:
        """See `Engine.at_rest` and `Rest`. Workers rest with the newest roster."""
        if self.scheduler.pacing.between_rollouts:
            self._state.roster.send()
        return self._rest.held()

    def take_cut(self, number: int) -> Checkpoint:
        worker, planner = self._state.merged(self._rest.answers)
        return self._cut(number, self._state.shared.slabs, planner, worker)

    def restore(self, checkpoint: Checkpoint) -> int:
        """See `Engine.restore`. Games that cannot be replayed are voided when workers start."""
        self._take_over(checkpoint, self._state.restore(checkpoint))
        return 0

    def edit(self, config: RunConfig) -> None:
        """See `Engine.edit`. Processes that start later start with the new configuration."""
        super().edit(config)
        self._state.config = config

    def needed(self) -> set[str]:
        """See `Engine.needed`; before the workers run, every snapshot of the roster."""
        answers = self._rest.answers.values()
        if not answers:
            return self._state.roster.roster.snapshot_ids()
        return set().union(*(answer.needed for answer in answers))

    def remove_snapshots(self, snapshot_ids: set[str]) -> None:
        sender = self._state.roster
        sender.roster = sender.roster.without_snapshots(snapshot_ids)
        sender.send()

    # --- accounting -------------------------------------------------------------------------------

    def rows_produced(self) -> int:
        return self._state.counters.produced()

    def rows_standing(self) -> int:
        """See `Engine.rows_standing`; away from rest it follows from the counters."""
        if not self._rest.complete:
            return self._state.rows_left()
        standing = sum(answer.standing for answer in self._rest.answers.values())
        return standing + self.scheduler.rows_waiting()

    def dropped(self) -> Counter[str]:
        return self._state.dropped()

    @property
    def stage_s(self) -> Mapping[str, float]:
        return self._state.counters.stage_s()

    def processes(self) -> list[ProcessStatus]:
        return [
            ProcessStatus("main", os.getpid(), ("main",), "running"),
            *self._state.counters.statuses(self.scheduler.waiting()),
        ]
