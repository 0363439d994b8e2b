"""The engine of the serial placement: every component in one process, in one fixed order.

Equal configurations and seeds give equal weights here, so it is the reference for the others.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from math import inf

from pbt.checkpoint.files import Checkpoint
from pbt.checkpoint.resharding import merge_workers
from pbt.checkpoint.state import split_cut
from pbt.checkpoint.workers import load_worker, save_worker
from pbt.population.interfaces import ControlSource, RunSink
from pbt.processes.freed_memory import keep_freed_memory, return_free_pages
from pbt.records import GameKind
from pbt.runtime.assembly import Population
from pbt.runtime.backpressure import SinkBackpressure
from pbt.runtime.engine import Engine, ProcessStatus
from pbt.runtime.held_games import HeldGames
from pbt.runtime.process_counters import RATE_OVER_S

# Of the only process.
NAME = "main"


class SerialEngine(Engine):
    """Acts, steps and learns in turns until every member is done, or a stop is requested."""

    def __init__(self, population: Population, sink: RunSink, control: ControlSource) -> None:
        keep_freed_memory(images=population.blueprint.sees_images)
        self.population, self.config = population, population.config
        self.scheduler = population.scheduler
        self._control, self._backlog = control, SinkBackpressure(sink)
        self.games: Counter[GameKind] = Counter()
        self.began = True
        self._stage_s: dict[str, float] = {"infer": 0.0, "simulate": 0.0, "learn": 0.0}
        # Turns that may be played before the pacing is asked again.
        self._turns = inf
        self.held = HeldGames()
        # (time, rows produced) when the rate was last measured.
        self._measured, self._rate = (time.monotonic(), 0), 0.0

    @property
    def done(self) -> bool:
        population = self.population
        return (
            self.controller.finished
            and population.planner.closing_games == 0
            and not population.worker.busy
            and self.scheduler.pacing.between_rollouts
        )

    def closing(self) -> tuple[int, int]:
        population = self.population
        planned = self.config.evaluation.final_games * len(population.learners)
        being_played = sum(
            table.playing and table.plan.kind == "evaluation" for table in population.worker.tables
        )
        return max(0, planned - population.planner.closing_games - being_played), planned

    def run(
        self, between_turns: Callable[[], None], look: Callable[[], None] = lambda: None
    ) -> bool:
        # A checkpoint of another placement may hold complete batches, whose slots are needed now.
        self.scheduler.dispatch()
        pacing = self.scheduler.pacing
        while not self.done:
            if pacing.between_rollouts and self._control.stop_requested():
                return False
            if pacing.between_rollouts:
                self._begin_rollout()
            if self._turns:
                self.turn()
            look()
            if pacing.between_rollouts:
                between_turns()
        return True

    def _begin_rollout(self) -> None:
        """Begin what the pacing says, which without rollouts is to play on."""
        scheduler = self.scheduler
        hold, round_ = self._backlog.full(), scheduler.round
        play = scheduler.pacing.next((NAME,), hold=hold, busy=scheduler.busy, round=round_)
        if play is None:
            return
        self._turns = inf if play.turns is None else play.turns
        if scheduler.pacing.in_rounds:
            self.population.worker.round = play.round
        if scheduler.pacing.overlaps:
            scheduler.learn_round(publish=False)

    def turn(self) -> None:
        """One turn: act, step, learn."""
        population, started = self.population, time.perf_counter()
        for ready in population.server.serve_all(population.worker.requests()):
            population.worker.receive(ready)
        acted = time.perf_counter()
        messages = population.worker.advance()
        stepped = time.perf_counter()
        for message in messages:
            self._tell(message)
        self._turns -= 1
        if not self._turns:
            self._end_rollout()
        self.scheduler.dispatch()
        self._stage_s["infer"] += acted - started
        self._stage_s["simulate"] += stepped - acted
        self._stage_s["learn"] += time.perf_counter() - stepped

    def _end_rollout(self) -> None:
        """Hand over all rows, and tell the games in their order."""
        worker = self.population.worker
        for full in worker.cut(self.population.planner.roster.generations()):
            self._tell(full)
        self.scheduler.pacing.played(NAME)
        self._tell_held()

    # --- resume -----------------------------------------------------------------------------------

    def at_rest(self) -> AbstractContextManager[None]:
        """See `Engine.at_rest`; between two turns nothing moves anyway."""
        return nullcontext()

    def take_cut(self, number: int) -> Checkpoint:
        population = self.population
        worker = merge_workers([save_worker(population.worker)])
        cut = self._cut(number, population.slabs, population.planner.state(), worker)
        return_free_pages()
        return cut

    def restore(self, checkpoint: Checkpoint) -> int:
        population = self.population
        split = split_cut(checkpoint, population.slabs, [population.worker.share])
        worker, planner = population.worker, population.planner
        planner.load(checkpoint.state.planner)
        replayable = population.blueprint.spec.replayable
        voided = load_worker(worker, split.workers[0], planner, replayable=replayable)
        self._take_over(checkpoint, split.queues)
        self.take_over_hyperparams()
        # Games that were voided by the resume are recorded before the next checkpoint.
        for message in worker.advance():
            self._tell(message)
        return voided

    def needed(self) -> set[str]:
        return self.population.planner.needed()

    def remove_snapshots(self, snapshot_ids: set[str]) -> None:
        planner = self.population.planner
        planner.roster = planner.roster.without_snapshots(snapshot_ids)

    # --- accounting -------------------------------------------------------------------------------

    def dropped(self) -> Counter[str]:
        fillers = self.population.worker.fillers
        return sum((filler.dropped for filler in fillers), self.scheduler.rows_dropped())

    def rows_produced(self) -> int:
        return sum(filler.produced for filler in self.population.worker.fillers)

    def rows_standing(self) -> int:
        """Rows in slots that are open, parked or wait for their batch."""
        return self.population.worker.rows_standing() + self.scheduler.rows_waiting()

    @property
    def stage_s(self) -> Mapping[str, float]:
        return self._stage_s

    def processes(self) -> list[ProcessStatus]:
        """See `Engine.processes`; there is only the calling one."""
        now, produced = time.monotonic(), self.rows_produced()
        measured_s, before = self._measured
        if now - measured_s >= RATE_OVER_S:
            self._rate, self._measured = (produced - before) / (now - measured_s), (now, produced)
        waiting = self.scheduler.waiting()
        roles = ("main", "worker", "server", " ".join(["learner", *waiting]))
        return [
            ProcessStatus(
                NAME,
                os.getpid(),
                roles,
                "running",
                self._rate,
                stage_s=dict(self._stage_s),
                queue=sum(waiting.values()),
            )
        ]

    def close(self) -> None:
        for table in self.population.worker.tables:
            # The game's own code may raise anything here, and nothing depends on it any more.
            with suppress(Exception):
                table.game.close()
        return_free_pages()
